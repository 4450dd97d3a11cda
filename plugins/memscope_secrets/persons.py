"""Finders of what tells of a person: addresses, birth, mail, pay, health."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .candidates import Candidate, Text

_EMAIL = re.compile(r"(?<![\w.+/:=@-])[\w.+'-]{1,64}@(?:[\w-]{1,63}\.){1,5}[A-Za-z]{2,24}(?![\w@])")
_ROLE = re.compile(
    r"(?:info|support|help|helpdesk|service|servicedesk|contact|kontakt|contacto|contatto|hello|hallo|office|admin|"
    r"administrator|webmaster|postmaster|hostmaster|root|security|abuse|privacy|press|presse|media|sales|jobs|careers|"
    r"no-?reply|do-?not-?reply|noreply|newsletter|notifications?|alerts?|feedback|team|git|mailer-daemon)(?:[-+._].*)?",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\d{1,2} ?[./-] ?\d{1,2} ?[./-] ?(?:\d{4}|\d{2})(?!\d)|(?:19|"
    r"20)\d\d ?[./年년-] ?\d{1,2} ?[./月월-] ?\d{1,2}(?: ?[日일])?|\d{2}년 ?\d{1,2}월 ?\d{1,2}일|(?:昭和|平成|令和|大正|民國|"
    r"民国)\d{1,2}年\d{1,2}月\d{1,2}日|\d{1,2}/\d{1,2}/\d{2,4}"
    r"|\d{1,2}(?:st|nd|rd|th|er|re|º|ª|\.|-го|\.º)?,? (?:de |of |d'|di )?[^\s\d.,/-]{3,14}\.?,? ?(?:de |del )?(?:19|"
    r"20)\d\d|[^\s\d.,/-]{3,14}\.? \d{1,2}(?:st|nd|rd|th|\.)?,? (?:19|20)\d\d|(?:19|"
    r"20)\d\d\.? [^\s\d.,/-]{3,14}\.? \d{1,2}|(?<!\d)(?:19[2-9]|20[01])\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|"
    r"3[01])(?!\d)"
)
_DATE_TO_BORN = re.compile(r"[\s()日,]{0,3}(?:에|に|da|de|tarihinde|ban|-?án|-?én|年)?\s?")
_N = r"\d{1,5} ?(?:[A-Za-z]|bis|ter)?(?:[/-]\d{1,4}[a-z]?)?(?!\w)"
_UP = r"[A-ZÀ-ÞĀ-ŽА-ЯЁІЇЄΑ-Ω][\w'’.-]{1,30}"
_NAMES = (
    rf"(?:(?:{_UP}|de|des|du|la|le|les|los|las|l'|d'|del|della|delle|dei|degli|di|da|do|dos|das|of|the|van|von|der|den|het|y|e|i) ?)"
    "{1,6}"
)
_STREETS = (
    # English: number, names, kind of street.
    rf"(?<![\w.])(?:Flat |Apt\.? |Unit )?{_N},? (?:[A-Z][\w'’.-]{{1,20}} ){{1,4}}(?:Street|St|Road|Rd|Lane|Ln|Avenue|"
    rf"Ave|Row|Rise|Court|Ct|Close|Drive|Dr|Way|Place|Pl|Square|Sq|Terrace|Gardens|Grove|Crescent|Steps|Hill|Mews|Walk|"
    rf"Park|Quay|Wharf|Boulevard|Blvd|Circle|Parade|Green|View|Yard|Passage|Path|Vale|End|Bank|Gate|Mount|Alley|Trail|"
    rf"Highway|Esplanade|Meadow|Meadows|Wynd|Croft|Parkway|Loop|Bend|Heights|Common|Fold|Fields?|Cottages?|Villas|Lea|"
    rf"Mill|Bridge|Side|Strand|Promenade|Crossing|Ridge|Point|Landing|Canal|Estate|Colony|Nagar|Marg)\b",
    rf"(?<![\w.]){_N} (?:[A-Z]\w+ ){{1,3}}(?:Apartments|House|Towers?|Residency|Heights|Mansions?|Enclave),? ",
    # German, Dutch, the Nordic languages, Hungarian, Finnish: kind of street as the end of a word, then the number.
    rf"(?<!\w)[A-ZÄÖÜÅØÆ][\w'-]*(?:stra(?:ß|ss)e|str\.|weg|gasse|gässchen|platz|allee|ring|damm|ufer|steig|stieg|pfad|"
    rf"winkel|graben|markt|berg|hof|feld|wall|zeile|twiete|chaussee|straat|laan|plein|gracht|kade|pad|dijk|singel|"
    rf"steeg|hof|gatan|vägen|gränd|stigen|torget|gata|veien|vegen|gate|vej|gade|allé|vænget|parken|katu|tie|kuja|polku|"
    rf"kaari|raitti|tänav|tee|iela)n? {_N}",
    rf"(?<!\w)[A-ZÄÖÜ][\w-]*(?: [A-ZÄÖÜ][\w-]*)? (?:Straße|Strasse|Str\.|Weg|Gasse|Platz|Allee|Ring|Straat|Laan|väg|"
    rf"gata|vej|gate|utca|út|tér|körút|köz|sor) {_N}",
    rf"(?<!\w)(?:Am|An der|Im|In der|Zum|Zur|Auf dem|Auf der|Unter den|Hinter der|Beim|Op de|Aan de|Aan het) {_UP}(?: {_UP})? {_N}",
    # Romance languages: kind of street, names, number, or the number first.
    rf"(?<![\w.]){_N},? ?(?:rue|avenue|av\.|impasse|place|boulevard|bd|bld|chemin|allée|quai|route|cours|sente|passage|"
    rf"square|ruelle|venelle|montée|villa|cité|résidence|faubourg) (?:de |du |des |d'|de la |de l'|la |le |"
    rf"les )?{_UP}[\w' -]{{0,40}}",
    rf"(?<!\w)(?:C/|c/|Calle|calle|Avenida|avenida|Avda\.?|Av\.|Plaza|plaza|Paseo|paseo|Pso\.|Ronda|Camino|Carrera|"
    rf"Cra\.?|Callejón|Carrer|Passeig|Plaça|Avinguda|Pasaje|Travesía|Jirón|Jr\.|Calzada|Privada|Rua|rua|R\.|Avenida|"
    rf"Travessa|travessa|Alameda|Largo|Praça|praça|Estrada|Beco|Rodovia|Ladeira|Via|via|Viale|viale|Piazza|piazza|"
    rf"Corso|corso|Largo|Vicolo|vicolo|Strada|strada|Contrada|Lungotevere|Str\.|Strada|strada|str\.|Bulevardul|Bd\.|"
    rf"Aleea|Calea|Șos\.) {_NAMES},? ?(?:n\.?[ºo°]? ?|nr\.? ?|núm\.? ?|#)?{_N}",
    # Slavic languages.
    rf"(?<!\w)(?:ul\.|ulica|ulicy|ulici|al\.|aleja|alei|os\.|osiedle|osiedlu|pl\.|plac|placu|ulice|nám\.|náměstí|třída|"
    rf"tř\.|nábřeží) ?{_NAMES}{_N}",
    rf"(?<!\w)(?:ул\.?|улица|улице|пр\.|пр-т|проспект|пер\.|переулок|бул\.|бульвар|б-р|наб\.|шоссе|ш\.|пл\.|площадь|"
    rf"вул\.|вулиця|просп\.|пров\.|провулок) ?[А-ЯЁІЇЄҐ0-9][\w .'-]{{1,40}},? ?(?:д\.|дом|буд\.|№)? ?{_N}",
    rf"(?<!\w)(?:[A-ZČŠŽŘ][\w-]+ (?:ulica|ulice|ulici|cesta|put|trg|námestie|utca|út|tér|sokak|Sokak|Sk\.|Sok\.|Cad\.|"
    rf"Caddesi|caddesi|Cd\.|Mah\.|Mahallesi|Bulvarı|sokağı|Sokağı)),? ?(?:[\w .]{{1,30}} )?(?:No|no|Nr|br\.?|"
    rf"č\.)?[:.]? ?{_N}",
    # Greek, Arabic, Hebrew, Persian, Hindi.
    rf"(?:οδός|οδού|Οδός|λεωφόρος|Λεωφ\.|πλατεία) [Α-Ωα-ω][\w ]{{1,30}} {_N}",
    r"(?:شارع|حي|طريق|زقاق|خیابان|کوچه|بلوار)\s[\u0600-\u06ff ]{2,40}[,،]? ?(?:رقم|بناية|مبنى|عمارة|منزل|فيلا|پلاک|شقة)?[ ]?\d{1,5}",
    r"(?:רחוב|רח'|שדרות|שד'|סמטת|דרך)\s[\u0590-\u05ff '\"-]{2,30} ?\d{1,4}",
    r"(?:मकान|फ्लैट|फ़्लैट|घर|प्लॉट|गली|हाउस)(?: ?(?:नंबर|नं\.?|संख्या|क्रमांक))? ?\d{1,5}[^\n]{0,60}?(?:नगर|मार्ग|"
    r"रोड|गली|कॉलोनी|विहार|पुर|सड़क|मोहल्ला|पथ|लेन|सेक्टर|बाग)|(?<!\d)\d{1,4}[,/]? ?[\u0900-\u097f ]{2,30}(?:नगर|"
    r"मार्ग|रोड|गली|कॉलोनी|विहार|सड़क|मोहल्ला|अपार्टमेंट)",
    # East and South-East Asia.
    r"[\u4e00-\u9fff]{1,20}(?:路|街|道|巷|弄|大街|胡同|里|村|小区|花园|苑)[\u4e00-\u9fff]{0,6}\d{1,5} ?(?:号|號|弄|栋|幢|巷|座|室)"
    r"[\d\u4e00-\u9fff号幢栋室楼单元-]{0,20}",
    r"[\u4e00-\u9fff]{1,8}(?:都|道|府|県|市|区|町|村)[\u3040-\u30ff\u4e00-\u9fff]{1,12}(?:\d{1,4}(?:-\d{1,4}){1,3}|"
    r"\d{1,3}丁目[\d番地号の-]{1,12}|\d{1,4}番地?)",
    r"[\uac00-\ud7af]{1,10}(?:로|길)(?:\d{1,3}(?:번)?길)? ?\d{1,4}(?:-\d{1,4})?|"
    r"[\uac00-\ud7af]{1,8}동 ?\d{1,4}(?:-\d{1,4})?(?:번지|호|동)|[\uac00-\ud7af]{2,10}(?:아파트|빌라|오피스텔) ?\d{1,4}동 ?\d{1,4}호",
    rf"(?<!\w)(?:Jl\.?|Jalan|jalan|Gang|Lorong) {_NAMES}(?:No\.?|no\.?|Nomor|Blok) ?[A-Z]?{_N}|(?<!\w)(?:Jl\.?|"
    rf"Jalan) {_NAMES}{_N}|(?<!\w)(?:số )?{_N},? (?:đường|phố|ngõ|ngách|hẻm|Đường|Phố) {_UP}|(?<!\w)(?:đường|phố|"
    rf"Đường) {_NAMES}(?:số )?{_N}",
    r"(?<!บัญชี)(?:บ้านเลขที่|เลขที่) ?\d{1,5}(?:/\d{1,4})?",
    rf"(?<!\w)\d{{1,4}},? (?:Sokak|Cadde|Mahallesi)|(?:Mah\.|Mahallesi|Mh\.)[^\n]{{1,50}}?No[:.]? ?{_N}",
)
_STREET = re.compile("|".join(f"(?:{street})" for street in _STREETS))
_POSTCODE_CITY = re.compile(
    rf"(?<!\w){_UP}(?: {_UP})? {_N}, ?(?:[A-Z]{{1,3}}-)?(?:\d{{4,5}}|\d{{3}} \d\d|\d\d-\d{{3}}|"
    rf"\d{{4}}-\d{{3}})(?: [A-Z]{{2}})? {_UP}|"
    rf"(?<!\w)\d{{1,5}}[A-Z]? (?:[A-Z][\w'’-]+ ?){{1,4}},[\w ,.'’-]{{1,60}}?\b(?:[A-Z]{{1,2}}\d[A-Z\d]? ?\d[A-Z]{{2}}|"
    rf"[A-Z]{{2}},? \d{{5}}(?:-\d{{4}})?)(?!\w)"
)


def emails(text: Text) -> Iterator[Candidate]:
    """Mail addresses of persons; those of offices such as `support@` are nobody's."""
    if "@" not in text.plain:
        return
    for match in _EMAIL.finditer(text.plain):
        if not _ROLE.fullmatch(match.group().partition("@")[0]):
            yield Candidate("email", match.start(), match.end(), 0.8)


def births(text: Text) -> Iterator[Candidate]:
    """Dates of birth: a date in the reach of a word for being born."""
    if not text.cues.of("born"):
        return
    for match in _DATE.finditer(text.plain):
        if any(_leads_to(text.plain, cue, match.span()) for cue in text.cues.between("born", match.start() - 40, match.end() + 12)):
            yield Candidate("date_of_birth", match.start(), match.end(), 0.8)


def _leads_to(plain: str, cue: tuple[int, int], date: tuple[int, int]) -> bool:
    """Whether a word for being born belongs to a date: before it in the same sentence, or right behind it as in `1980年生`."""
    abbreviated = cue[1] - cue[0] <= 3 and plain[cue[0] : cue[1]].isascii()  # `f.`, `n.` and the like must touch the date.
    if cue[1] <= date[0]:
        gap = plain[cue[1] : date[0]]
        return len(gap) <= (3 if abbreviated else 30) and not re.search(r"[.!?]\s.*[.!?;]|[。;；\n]", gap)
    return date[1] <= cue[0] and not abbreviated and bool(_DATE_TO_BORN.fullmatch(plain, date[1], cue[0]))


def addresses(text: Text) -> Iterator[Candidate]:
    """Postal addresses of homes: street and number, unless the text speaks of offices, shops and the like only."""
    if not re.search(r"\d", text.plain):
        return
    spans = [match.span() for expression in (_STREET, _POSTCODE_CITY) for match in expression.finditer(text.plain)]
    for start, end in spans:
        home = text.cued("home", start, 160, after=160)
        named = any(text.cues.of(kind) for kind in ("born", "national_id", "passport"))
        if home or named or not text.cued("business", start, 120, after=120):
            yield Candidate("home_address", start, end, 0.8 if home else 0.6)
