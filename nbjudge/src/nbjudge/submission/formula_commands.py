"""The TeX that a student's formulas may use: commands and environments that draw within their own place.

What is not listed is shown as text. Left out on purpose: whatever takes a length, moves or overlaps what
it draws (raise, smash, llap, rule, hspace), sizes, colours, definitions, links and HTML.
"""

GREEK = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu xi
omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega digamma Gamma Delta Theta
Lambda Xi Pi Sigma Upsilon Phi Psi Omega varGamma varDelta varTheta varLambda varXi varPi varSigma
varUpsilon varPhi varPsi varOmega
"""
LETTERS = """
aleph beth gimel daleth ell hbar hslash imath jmath wp Re Im partial nabla infty emptyset varnothing
complement Bbbk eth mho Finv Game forall exists nexists neg lnot top bot angle measuredangle sphericalangle
prime backprime surd flat natural sharp clubsuit diamondsuit heartsuit spadesuit square Box blacksquare
diamond Diamond lozenge blacklozenge triangle triangledown blacktriangle blacktriangledown bigstar star
checkmark maltese circledR circledS dag ddag dagger ddagger S P copyright pounds yen backslash degree diagup
diagdown
"""
OPERATORS = """
times div cdot ast star circ bullet bigcirc pm mp cap cup Cap Cup uplus sqcap sqcup vee wedge lor land
veebar barwedge setminus smallsetminus oplus ominus otimes oslash odot circledast circledcirc circleddash
boxplus boxminus boxtimes boxdot dotplus divideontimes intercal ltimes rtimes leftthreetimes rightthreetimes
wr amalg triangleleft triangleright bigtriangleup bigtriangledown lhd rhd unlhd unrhd centerdot And curlyvee
curlywedge sum prod coprod int iint iiint iiiint oint intop smallint idotsint bigcap bigcup bigsqcup bigvee
bigwedge bigoplus bigotimes bigodot biguplus limits nolimits
"""
RELATIONS = """
lt gt le leq ge geq ne neq leqq geqq leqslant geqslant lesssim gtrsim lessapprox gtrapprox lessgtr gtrless
ll gg lll ggg nless ngtr nleq ngeq lneq gneq lneqq gneqq equiv sim simeq nsim approx approxeq cong ncong
asymp doteq doteqdot triangleq circeq bumpeq Bumpeq propto varpropto models vdash dashv vDash Vdash nvdash
nvDash perp parallel nparallel mid nmid shortmid in notin ni owns subset supset nsubset subseteq supseteq
nsubseteq nsupseteq subsetneq supsetneq subseteqq supseteqq Subset Supset sqsubset sqsupset sqsubseteq
sqsupseteq prec succ preceq succeq preccurlyeq succcurlyeq precsim succsim nprec nsucc smile frown bowtie
Join between pitchfork therefore because not coloneqq eqqcolon vartriangle vartriangleleft vartriangleright
trianglelefteq trianglerighteq
"""
ARROWS = """
to gets mapsto longmapsto leftarrow rightarrow leftrightarrow longleftarrow longrightarrow
longleftrightarrow Leftarrow Rightarrow Leftrightarrow Longleftarrow Longrightarrow Longleftrightarrow iff
implies impliedby uparrow downarrow updownarrow Uparrow Downarrow Updownarrow nearrow searrow swarrow
nwarrow hookleftarrow hookrightarrow leftharpoonup leftharpoondown rightharpoonup rightharpoondown
rightleftharpoons leftrightharpoons leftleftarrows rightrightarrows leftrightarrows rightleftarrows
upuparrows downdownarrows twoheadleftarrow twoheadrightarrow leftarrowtail rightarrowtail leadsto
rightsquigarrow leftrightsquigarrow dashleftarrow dashrightarrow nleftarrow nrightarrow nleftrightarrow
nLeftarrow nRightarrow nLeftrightarrow curvearrowleft curvearrowright circlearrowleft circlearrowright
multimap xleftarrow xrightarrow
"""
FUNCTIONS = """
arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log
max min Pr sec sin sinh sup tan tanh argmax argmin varliminf varlimsup injlim projlim mod bmod pmod pod
operatorname operatornamewithlimits
"""
PARTS = """
frac dfrac tfrac cfrac over atop choose binom dbinom tbinom brace brack sqrt root of overset underset
stackrel substack hat widehat check widecheck tilde widetilde acute grave dot ddot dddot ddddot breve bar
vec mathring overline underline overbrace underbrace overrightarrow overleftarrow overleftrightarrow
underrightarrow underleftarrow underleftrightarrow boxed phantom hphantom vphantom mathstrut strut mathop
mathbin mathrel mathord mathopen mathclose mathpunct mathinner
"""
DELIMITERS = """
left right middle big Big bigg Bigg bigl bigr bigm Bigl Bigr Bigm biggl biggr biggm Biggl Biggr Biggm langle
rangle lang rang lbrace rbrace lbrack rbrack lvert rvert lVert rVert vert Vert lfloor rfloor lceil rceil
lgroup rgroup lmoustache rmoustache ulcorner urcorner llcorner lrcorner
"""
FONTS_AND_SPACES = """
text textbf textit textrm textsf texttt textup textnormal emph mbox hbox mathbb mathbf mathcal mathfrak
mathit mathnormal mathrm mathscr mathsf mathtt boldsymbol bm pmb Bbb bold rm bf it sf tt cal frak mit
displaystyle textstyle scriptstyle scriptscriptstyle quad qquad enspace thinspace medspace thickspace
negthinspace negmedspace negthickspace space nobreakspace dots ldots cdots vdots ddots dotsb dotsc dotsi
dotsm dotso cdotp ldotp colon
"""
STRUCTURE = "begin end hline hdashline cr nonumber notag tag label ref eqref"

NAMED = """
matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix cases array aligned align align* equation
equation* gather gather* gathered split multline multline* eqnarray eqnarray*
"""

COMMANDS = frozenset(
    " ".join(
        (
            *(GREEK, LETTERS, OPERATORS, RELATIONS, ARROWS, FUNCTIONS),
            *(PARTS, DELIMITERS, FONTS_AND_SPACES, STRUCTURE),
        )
    ).split()
)
ENVIRONMENTS = frozenset(NAMED.split())
