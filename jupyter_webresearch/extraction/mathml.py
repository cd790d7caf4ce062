"""Presentation MathML as TeX, for formulas that carry no source."""

from __future__ import annotations

from lxml import etree

from jupyter_webresearch.extraction.tree import element_text, tag_of

__all__ = ["tex_of_mathml"]

_CHARACTERS = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ∞∑∏∫∂∇√±×÷·≤≥≠≈≡∈∉⊂⊆∪∩→←⇒⇔∀∃…⋯−ℝℕℤ¬∧∨∘⊗⊕∼∅′ϵ"
_TEX = (
    r"\alpha \beta \gamma \delta \epsilon \zeta \eta \theta \iota \kappa \lambda \mu \nu \xi \pi \rho \sigma \tau "
    r"\upsilon \phi \chi \psi \omega \Gamma \Delta \Theta \Lambda \Xi \Pi \Sigma \Phi \Psi \Omega \infty \sum \prod "
    r"\int \partial \nabla \surd \pm \times \div \cdot \leq \geq \neq \approx \equiv \in \notin \subset \subseteq "
    r"\cup \cap \rightarrow \leftarrow \Rightarrow \Leftrightarrow \forall \exists \ldots \cdots - \mathbb{R} "
    r"\mathbb{N} \mathbb{Z} \neg \land \lor \circ \otimes \oplus \sim \emptyset ^{\prime} \epsilon"
)
_SYMBOLS = dict(zip(_CHARACTERS, _TEX.split(), strict=True))
_FUNCTIONS = frozenset({
    "sin", "cos", "tan", "log", "ln", "exp", "lim", "max", "min", "det", "sup", "inf", "arg", "gcd", "sinh", "cosh",
    "tanh", "sec", "csc", "cot",
})  # fmt: skip
_ACCENTS = {"¯": r"\overline", "→": r"\vec", "^": r"\hat", "˙": r"\dot", "~": r"\tilde"}
_INVISIBLE = "\u2061\u2062\u2063\u2064 \n\t"
_MAX_DEPTH = 60


def tex_of_mathml(element: etree._Element, depth: int = 0) -> str:
    """Return TeX for a MathML element; parts nested beyond 60 are given as text.

    Parameters
    ----------
    element
        With or without a namespace.
    depth
        How deep in the formula it lies.
    """
    name = tag_of(element).rpartition("}")[2].rpartition(":")[2]
    text = element_text(element)
    if depth > _MAX_DEPTH:
        return text
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        return _token(name, text, element.get("mathvariant"))
    if name in ("annotation", "annotation-xml"):
        return ""
    if name == "mspace":
        return " "
    children = [tex_of_mathml(child, depth + 1) for child in element if tag_of(child)]
    first, second, third = [*children, "", "", ""][:3]
    if name == "mfrac":
        return rf"\frac{{{first}}}{{{second}}}"
    if name == "msqrt":
        return rf"\sqrt{{{''.join(children)}}}"
    if name == "mroot":
        return rf"\sqrt[{second}]{{{first}}}"
    if name == "msup":
        return f"{first}^{{{second}}}"
    if name in ("msub", "munder"):
        return f"{first}_{{{second}}}"
    if name in ("msubsup", "munderover"):
        return f"{first}_{{{second}}}^{{{third}}}"
    if name == "mover":
        accent = _ACCENTS.get(second.strip())
        return f"{accent}{{{first}}}" if accent else rf"\overset{{{second}}}{{{first}}}"
    if name == "mtr":
        return " & ".join(children)
    if name == "mtable":
        return r"\begin{matrix}" + r" \\ ".join(children) + r"\end{matrix}"
    if name == "mfenced":
        return (element.get("open") or "(") + ",".join(children) + (element.get("close") or ")")
    return "".join(children)


def _token(name: str, text: str, variant: str | None) -> str:
    stripped = text.strip(_INVISIBLE)
    if name == "mtext":
        return rf"\text{{{text}}}" if stripped else r"\ "
    if stripped in _FUNCTIONS:
        return f"\\{stripped} "
    if name == "mi" and len(stripped) > 1 and stripped.isalpha():
        return rf"\text{{{stripped}}}"
    if stripped in ("{", "}"):
        return "\\" + stripped
    tex = "".join(f"{_SYMBOLS[c]} " if c in _SYMBOLS else c for c in stripped)
    return rf"\mathbf{{{tex}}}" if variant == "bold" else tex
