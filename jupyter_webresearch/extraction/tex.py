r"""TeX that may reach a formula renderer.

TeX is a program, and MathJax and KaTeX know macros that make links, styles, class names and definitions (``\href``,
``\style``, ``\class``, ``\require``, ``\def``). So a formula passes only when every macro in it is in a list.
"""

from __future__ import annotations

import re

from jupyter_webresearch.extraction.sanitise import clean

__all__ = ["MACROS", "is_safe", "markdown_tex", "tidy"]

_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu xi omicron "
    "pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma "
    "Upsilon Phi Psi Omega digamma aleph beth gimel daleth hbar hslash ell wp Re Im imath jmath partial nabla "
    "infty emptyset varnothing forall exists nexists neg lnot top bot angle measuredangle sphericalangle triangle "
    "square Box blacksquare diamond Diamond bigstar star clubsuit diamondsuit heartsuit spadesuit flat natural "
    "sharp prime backprime surd eth complement sum prod coprod int iint iiint oint bigcup bigcap bigvee bigwedge "
    "bigoplus bigotimes bigodot biguplus bigsqcup smallint intop limits nolimits pm mp times div cdot ast circ "
    "bullet cap cup uplus sqcap sqcup vee wedge lor land setminus smallsetminus wr oplus ominus otimes oslash odot "
    "bigcirc dagger ddagger amalg ltimes rtimes dotplus barwedge veebar leq le geq ge leqq geqq leqslant geqslant "
    "lt gt ll gg lll ggg neq ne equiv sim simeq approx approxeq cong doteq propto varpropto prec succ preceq "
    "succeq lesssim gtrsim lessapprox gtrapprox lessgtr asymp models perp mid parallel nmid nparallel bowtie smile "
    "frown vdash dashv vDash Vdash triangleq coloneqq eqqcolon colon vcentcolon subset supset subseteq supseteq "
    "subsetneq supsetneq nsubseteq nsupseteq sqsubset sqsupset sqsubseteq sqsupseteq in ni notin owns not nless "
    "ngtr nleq ngeq nsim ncong leftarrow rightarrow leftrightarrow Leftarrow Rightarrow Leftrightarrow "
    "longleftarrow longrightarrow longleftrightarrow Longleftarrow Longrightarrow Longleftrightarrow to gets "
    "mapsto longmapsto uparrow downarrow updownarrow Uparrow Downarrow Updownarrow nearrow searrow swarrow nwarrow "
    "hookleftarrow hookrightarrow leftharpoonup rightharpoonup leftharpoondown rightharpoondown rightleftharpoons "
    "leftrightharpoons iff implies impliedby rightsquigarrow leadsto twoheadrightarrow xrightarrow xleftarrow "
    "xleftrightarrow circlearrowleft curvearrowright nrightarrow nleftarrow ldots cdots vdots ddots dots dotsc "
    "dotsb dotsm dotsi dotso cdotp ldotp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln "
    "lg exp lim limsup liminf max min sup inf det dim ker hom deg gcd arg Pr injlim projlim varlimsup varliminf "
    "bmod pmod mod pod operatorname argmax argmin frac dfrac tfrac cfrac binom dbinom tbinom genfrac sqrt root of "
    "over atop choose above stackrel overset underset overline underline overbrace underbrace overrightarrow "
    "overleftarrow overleftrightarrow widehat widetilde hat check breve acute grave tilde bar vec dot ddot dddot "
    "mathring substack sideset prescript boxed cancel bcancel xcancel phantom hphantom vphantom smash mathrm "
    "mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr boldsymbol bm pmb text textrm textbf textit "
    "textsf texttt textnormal textsc mbox hbox rm bf it sf tt cal frak mathop mathbin mathrel mathord mathopen "
    "mathclose mathpunct mathinner mathstrut emph left right middle big Big bigg Bigg bigl Bigl biggl Biggl bigr "
    "Bigr biggr Biggr bigm Bigm biggm Biggm langle rangle lfloor rfloor lceil rceil lbrace rbrace lbrack rbrack "
    "lvert rvert lVert rVert vert Vert lgroup rgroup ulcorner urcorner llcorner lrcorner backslash quad qquad "
    "thinspace medspace thickspace negthinspace enspace enskip hspace hskip kern mkern mskip space nobreakspace "
    "hfill displaystyle textstyle scriptstyle scriptscriptstyle tiny scriptsize small normalsize large Large LARGE "
    "huge Huge begin end hline cline multicolumn newline cr notag nonumber tag intertext displaylimits color "
    "textcolor mathchoice strut lower raise raisebox rlap llap mathllap mathrlap mathclap S P copyright pounds yen "
    "degree dag ddag checkmark circledR maltese AA ss o O L l ae AE oe OE i j ket bra braket Ket Bra set Set dv "
    "pdv dd abs norm qty ce pu colonequals therefore because blacktriangle blacktriangledown lozenge blacklozenge "
    "vartriangle triangledown trianglelefteq trianglerighteq triangleleft triangleright unlhd unrhd lhd rhd mathds "
    "mathbbm slashed centernot oiint varinjlim varprojlim Join multimap intercal doublebarwedge gtreqless "
    "lesseqgtr upharpoonright restriction lhook iiiint idotsint"
)
MACROS = frozenset(_NAMES.split())
"""Macros that only typeset (LaTeX, amsmath, amssymb, mathtools, physics, mhchem)."""

_ENVIRONMENTS = frozenset({
    "matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "array", "cases", "dcases",
    "rcases", "aligned", "alignedat", "gathered", "split", "align", "alignat", "gather", "equation", "multline",
    "eqnarray", "subarray", "flalign", "displaymath", "math", "CD", "darray", "lgathered", "rgathered",
})  # fmt: skip
_MACRO = re.compile(r"\\([a-zA-Z]+)")
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*(?:\{([^{}]*)\})?")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?")
_STYLE_GROUP = re.compile(r"^\{\\(?:displaystyle|textstyle)\b\s?(.*)\}$", re.DOTALL)
_STYLE = re.compile(r"^\\(?:displaystyle|textstyle)\b\s*")
_DELIMITED = re.compile(r"^(?:\$\$(.*)\$\$|\$(.*)\$|\\\[(.*)\\\]|\\\((.*)\\\))$", re.DOTALL)
_LABEL = re.compile(r"\\label\s*\{[^{}]*\}")
_SPACES = re.compile(r"\s+")
_MAX_LENGTH = 10_000


def tidy(tex: str) -> str:
    """Return TeX on one line, without delimiters, comments and outer style switches."""
    tex = clean(tex)[0]
    tex = _COMMENT.sub("\n", tex) if "%" in tex else tex
    tex = _SPACES.sub(" ", _LABEL.sub("", tex[: _MAX_LENGTH + 1])).strip()
    delimited = _DELIMITED.match(tex)
    if delimited:
        tex = next(part for part in delimited.groups() if part is not None).strip()
    group = _STYLE_GROUP.match(tex)
    if group and _balanced(group.group(1)):
        tex = group.group(1)
    return _STYLE.sub("", tex).strip()


def is_safe(tex: str) -> bool:
    """Return whether tidy TeX can only typeset: known macros and environments, balanced braces, no dollar."""
    if len(tex) > _MAX_LENGTH or "$" in tex or not _balanced(tex):
        return False
    if any(name not in MACROS for name in _MACRO.findall(tex)):
        return False
    return all(name.rstrip("*") in _ENVIRONMENTS for name in _ENVIRONMENT.findall(tex))


def markdown_tex(tex: str) -> str:
    """Return safe TeX so that Markdown markup can't begin in it, for renderers that know no formulas."""
    tex = tex.replace("<", r"\lt ").replace(">", r"\gt ").replace("`", "'")
    tex = (
        tex.replace("](", "]{}(")
        .replace("][", "]{}[")
        .replace("]:", "]{}:")
        .replace("[^", "[{}^")
        .replace("![", "!{}[")
    )
    tex = tex.replace("://", ":{}//").replace("&", "& ")
    return tex if tex[0].isalpha() or tex[0] in "\\{(|" else "{}" + tex


def cell_tex(tex: str) -> str:
    """Return inline TeX without the bar that would end a table's cell."""
    return tex.replace("\\|", r"\Vert ").replace("|", r"\vert ")


def _balanced(tex: str) -> bool:
    depth = 0
    escaped = False
    for character in tex:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0 and not escaped
