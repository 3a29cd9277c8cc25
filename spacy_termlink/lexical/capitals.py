"""Names that are abbreviations, and how a text may write them: AIDS the disease is no hearing aids."""

from ..text import normalize

#: Letters of an abbreviation, at most.
LONGEST = 6
#: Up to this many letters, another thing is often meant by the plural: LFTs are no LFT (a lipoma).
SHORT = 3
_WORDS = """
a act add age ago aid aids aim air all am an and any apt arc arcs are arm army art arts as ash ask
at ate bad bag bar bars base bat bats be bed beds bee best bet bid big bit bits boss bow box boy bus
but buy by cab calm came camp can cane cap caped caps car card care cares carp cars cart case cast
cat cats cave chap char charge chart check chess china chip clam clap class clay clip club coach
coat cod code cold colds come cop cope cord cords core cost court craft crash crest crib crisp crop
cross cry cube cup cups cut dad dam dame dare dark dart dash date dates day days dead deal dear deed
den did dim dime dip dips dire dirt disc dish do dog doll door dot down draw dress drill drop due
dust each ear earl east easy eat edge eel egg eggs elf elm else end ends era eve even ever exam eye
face faces fact facts fad fade fair fame fan far farm fast fate fed fee feed fees feel few file film
fin find fine fire fish fist fit five flag flair flame flap flat flex flip flop foam foil food for
form fort four frame free from fun gala game gap gaps gas gate gave gear gel gem gems get gift gist
glad go goal goat goes gold gone good got grace grade grain grant gray great grid grip group gum
guns gust had hair half hall ham hand hands hard has hat hats have he head heap heart heat help hem
hems hen her herd here hero hers hi hid high hike hill him hint hip hips hire his hit hive hold home
hop hope hops horn host hot hour hub huge i ice icon if in inch ink inn iris iron is it item its jam
jar jaw job jobs join jump just keep kept key kick kids kind king kiss kit lab labs lack lad laid
lake lamb lamp land lane lap laps large laser last late law laws lay lead leaf lean leap less let
level lid lids lie life lift like limb lime line link lion lip lips list lit live load loan lobe
lock log logs long look loop lord lore lot lots loud love low luck mad made maid maids mail main
male males man many map maps march mark mars mask mast mat mate may me meal mean meant meat meet
melt men mend menu mess met mice mid might mild mile milk mind mine mint miss mix mode model mom
moms moon moral more most move much mud must my nail name names nap near neat need nerd nest net
nets never new news next nice no noble nod node none nor nose not note now nun oak oar odd of off
oil old on once one ones only open or oral order our out oval oven over own pace pack pad page paid
pair pal pale pals palm pan panda pandas panel paper papa park part parts pass past path paw pay pea
pear peas peel pen pens per pet pets pick piece pied pig pin pine pink pit pits place plan plans
plate play plot plus pod poem poems point pole polo pool poor pop port pose post pot press print
probe prone pub pull pump pure push put race rack raft rail rain ramp ran rang range rank rap rapid
rare rat rate rats raw ray read real red reed rest rib rich ride right ring rip rise risk road roar
rob rock rod role roll roof room root rope rose row rub rug run runs rush sack sacs sad safe sage
said sail sale salt same sand sap sat save saw say scale scan scans score scout sea seal seat see
seed seem self send sent set sets shape share sharp she shed ship shoe shop short shot show side
sift sight sign silk sin sip sir sit site six size skill skin slam slim slip slow small smart smile
snap snow so soap soft soil sold solo some son song soon sort soul soup space span spark spin spine
spot spots spring stamp star stars start state stay steam steel stem stems step steps stop store
storm story strap stream strip such suit sum sun sure swan swap sweet swift swim swing tab table
tabs taco tag tail take taken tale talk tall tame tan tank tap tape tapes tar task tea team tell ten
tend term test tests text than that the them then they thin this those tide tie tier tile till time
times tin tint tip tips tire to told ton tone too took tool top torch touch tour town toy trace
track tract trail train trait tram trap traps tray tree trend trick trim trip true tub tube tune
turn twin two type unit up upon urge us use used van vase vast very vest via view visa vista vital
voice vote wad wage wait wake walk wall want war warm warp was wash wave waves wax way we web week
well went were west wet what when whim who whole why wide wife wild will win wind wing wire wise
wish with wood word work world would wrap yes yet you young your zap zip zone zoo
"""
#: Ordinary words of English that are abbreviations in medicine, too. In small letters they are the
#: word. Words for findings ("scar", "mass", "pain") are left out: of a source that writes all names in
#: capitals they are names.
ORDINARY = frozenset(_WORDS.split())


def is_abbreviation(name: str) -> bool:
    """Few letters with capitals after the first: ADHD, mtDNA, IgA."""
    return len(name) <= LONGEST and any(char.isupper() for char in name[1:])


def is_written(name: str, surface: str) -> bool:
    """Whether a text writes an abbreviation as the name does, or with the s of the plural.

    surface (str): One word of the text.
    """
    return surface in (name, f"{name}s")


def is_said(name: str, mention: str) -> bool:
    """Whether a mention may be a name: one that is no abbreviation of one word always; one that is if
    it is written so, or with the same letters, all in capitals or in small letters ("copd"), and
    is no word of ordinary English.

    Another number is another name ("aid", "COLDS"), and so are other capitals: CsA is no CSA.
    """
    if is_written_so(name, mention) or not name.isalnum():
        return True
    letters = _as_one_word(mention)
    if normalize(mention).replace(" ", "") != normalize(name):
        return False
    if any(char.isupper() for char in letters[1:]):
        return letters.isupper()
    return letters.casefold() not in ORDINARY


def is_other_plural(name: str, mention: str) -> bool:
    """Whether a mention is the plural of a SHORT abbreviation: a name of its own, which a concept that
    means it lists. "MI's" is no plural."""
    if len(name) > SHORT or not name.isupper() or _as_one_word(mention) != f"{name}s":
        return False
    return normalize(mention) != normalize(name)


def is_written_so(name: str, mention: str) -> bool:
    """Whether a mention writes a name's capitals as it does, where it is an abbreviation."""
    letters = _as_one_word(mention)
    if is_other_plural(name, mention):
        return False
    return (
        not is_abbreviation(name)
        or is_written(name, letters)
        or is_written(letters, name)  # "PAC" of PACs
    )


def _as_one_word(mention: str) -> str:
    return "".join(filter(str.isalnum, mention))
