"""National and tax numbers of persons, as a table: form, checksum (python-stdnum), and whether a cue word is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from . import validators


@dataclass(frozen=True, slots=True)
class Identifier:
    """One kind of number."""

    country: str
    name: str
    body: str
    module: str = ""
    """Module of python-stdnum that checks it; none where the form is all there is."""
    alone: bool = False
    """Whether a valid one speaks for itself; the others need a cue word near by, for digits alone are too often something else."""

    def compile(self) -> re.Pattern[str]:
        """The regular expression, for a text in plain form."""
        return re.compile(rf"(?<![\w.,/-])(?:{self.body})(?![\w]|[-/]\d|[.,]\d)", re.ASCII)

    def valid(self, number: str) -> bool:
        """Whether its check digits (and the date or region that it carries) hold."""
        return bool(self.module) and validators.stdnum(self.module)(number)


_S = "[ .-]?"
IDENTIFIERS: tuple[Identifier, ...] = (
    Identifier("AE", "Emirates ID", rf"784{_S}(?:19|20)\d\d{_S}\d{{7}}{_S}\d", alone=True),
    Identifier("AR", "CUIL", r"(?:20|23|24|27|30)-?\d{8}-?\d", "ar.cuit"),
    Identifier("AR", "DNI", r"\d{1,2}\.?\d{3}\.?\d{3}", "ar.dni"),
    Identifier("AT", "Versicherungsnummer", r"\d{4} ?\d{6}", "at.vnr"),
    Identifier("AU", "TFN", r"\d{3} ?\d{3} ?\d{2,3}", "au.tfn"),
    Identifier("BE", "NISS", r"\d\d\.?\d\d\.?\d\d[- ]?\d{3}[. ]?\d\d", "be.nn", alone=True),
    Identifier("BG", "EGN", r"\d{10}", "bg.egn"),
    Identifier("BR", "CPF", r"\d{3}\.?\d{3}\.?\d{3}-?\d\d", "br.cpf"),
    Identifier("BR", "CPF", r"\d{3}\.\d{3}\.\d{3}-\d\d", alone=True),
    Identifier("CA", "SIN", r"\d{3}[ -]?\d{3}[ -]?\d{3}", "ca.sin"),
    Identifier("CH", "AHV", r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d\d", "ch.ssn", alone=True),
    Identifier("CH", "AHV", r"756\.\d{4}\.\d{4}\.\d\d", alone=True),
    Identifier("CL", "RUT", r"\d{1,2}\.?\d{3}\.?\d{3}-[\dkK]", "cl.rut", alone=True),
    Identifier("CN", "identity number", r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx]", "cn.ric", alone=True),
    Identifier("CN", "identity number", r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx]", alone=True),
    Identifier("CO", "cedula", r"\d{1,3}\.?\d{3}\.?\d{3}"),
    Identifier("CZ, SK", "rodne cislo", r"\d{6}/\d{3,4}", "cz.rc", alone=True),
    Identifier("DE", "Steuer-ID", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", "de.idnr"),
    Identifier("DE", "Rentenversicherungsnummer", r"\d\d ?\d{6} ?[A-Z] ?\d{3}", alone=True),
    Identifier("DE", "Krankenversichertennummer", r"[A-Z]\d{9}"),
    Identifier("DK", "CPR", r"(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d-\d{4}", alone=True),
    Identifier("DK", "CPR", r"\d{6} ?\d{4}", "dk.cpr"),
    Identifier("EC", "cedula", r"\d{9}-?\d", "ec.ci"),
    Identifier("EE, LT", "isikukood, asmens kodas", r"[1-6]\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{4}", "ee.ik"),
    Identifier("EG", "national number", r"[23]\d{13}", "eg.tn"),
    Identifier("ES", "DNI", r"\d{2}\.?\d{3}\.?\d{3}[ -]?[A-HJ-NP-TV-Z]", "es.nif", alone=True),
    Identifier("ES", "NIE", r"[XYZ][ -]?\d{7}[ -]?[A-HJ-NP-TV-Z]", "es.nie", alone=True),
    Identifier("ES", "DNI, NIE", r"(?:[XYZ]-?\d{7}|\d{8})-?[A-HJ-NP-TV-Z]", alone=True),
    Identifier("FI", "henkilotunnus", r"(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d[-+A-FU-Y]\d{3}[\dA-FHJ-NPR-Y]", "fi.hetu", alone=True),
    Identifier("FI", "henkilotunnus", r"(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d[-+A]\d{3}[A-FHJ-NPR-Y]", alone=True),
    Identifier("FR", "NIR", r"[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3}(?: ?\d\d)?", "fr.nir", alone=True),
    Identifier("FR", "NIR", r"[12] \d\d (?:0[1-9]|1[0-2]) (?:\d\d|2[AB]) \d{3} \d{3}(?: \d\d)?", alone=True),
    Identifier("GB", "NHS number", r"\d{3}[ -]?\d{3}[ -]?\d{4}", "gb.nhs"),
    Identifier("GR", "AMKA", r"\d{11}", "gr.amka"),
    Identifier("HK", "HKID", r"[A-Z]{1,2}\d{6} ?\([\dA]\)", alone=True),
    Identifier("HR", "OIB", r"\d{11}", "hr.oib"),
    Identifier("HU", "TAJ", r"\d{3}[ -]\d{3}[ -]\d{3}"),
    Identifier("ID", "NIK", r"\d{16}", "id.nik"),
    Identifier("IE", "PPS", r"\d{7} ?[A-W][A-IW]?", "ie.pps", alone=True),
    Identifier("IL", "identity number", r"\d{8}-?\d", "il.idnr"),
    Identifier("IN", "Aadhaar", r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}", "in_.aadhaar"),
    Identifier("IN", "PAN", r"[A-Z]{3}[ABCFGHJLPTK][A-Z]\d{4}[A-Z]", alone=True),
    Identifier("IN", "PAN", r"[A-Z]{5}\d{4}[A-Z]"),
    Identifier("IS", "kennitala", r"(?:[04][1-9]|[1256]\d|[37][01])(?:0[1-9]|1[0-2])\d\d-?\d{4}", "is_.kennitala"),
    Identifier("IT", "codice fiscale", r"[A-Za-z]{6}\d{2}[A-EHLMPRSTa-ehlmprst]\d{2}[A-Za-z]\d{3}[A-Za-z]", alone=True),
    Identifier("JP", "My Number", r"\d{4}[ -]?\d{4}[ -]?\d{4}"),
    Identifier("KR", "RRN", r"\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]) ?- ?[1-8]\d{6}", alone=True),
    Identifier("LV", "personas kods", r"(?:\d{6}|32\d{4})-[0-2]\d{4}", alone=True),
    Identifier("MX", "CURP", r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z\d]\d", alone=True),
    Identifier("MX", "RFC", r"[A-Z&]{4}-?\d{6}-?[A-Z\d]{3}", "mx.rfc"),
    Identifier("MY", "MyKad", r"\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-\d\d-\d{4}", alone=True),
    Identifier("NL", "BSN", r"\d{4}[. ]?\d\d[. ]?\d{3}", "nl.bsn"),
    Identifier("NO", "fodselsnummer", r"(?:[04][1-9]|[1256]\d|[37][01])(?:[04][1-9]|[15][0-2])\d\d ?\d{5}", "no.fodselsnummer"),
    Identifier("NZ", "IRD", r"\d{2,3}-?\d{3}-?\d{3}", "nz.ird"),
    Identifier("PK", "CNIC", r"\d{5}-\d{7}-\d", alone=True),
    Identifier("PL", "PESEL", r"\d{11}", "pl.pesel"),
    Identifier("PL", "dowod osobisty", r"[A-Z]{3} ?\d{6}"),
    Identifier("PT", "NIF", r"[1-3]\d\d ?\d{3} ?\d{3}", "pt.nif"),
    Identifier("PT", "cartao de cidadao", r"\d{8} ?\d ?[A-Z]{2}\d", "pt.cc", alone=True),
    Identifier("RO", "CNP", r"[1-8]\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{6}", "ro.cnp", alone=True),
    Identifier("RS, SI, BA, MK", "JMBG, EMSO", r"(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])[90]\d{2}\d{6}", "si.emso"),
    Identifier("RU", "SNILS", r"\d{3}-\d{3}-\d{3}[ -]\d\d", alone=True),
    Identifier("RU", "INN", r"\d{12}", "ru.inn"),
    Identifier("SE", "personnummer", r"(?:19|20)?\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-+]\d{4}", alone=True),
    Identifier("SE", "personnummer", r"(?:19|20)?\d{10}", "se.personnummer"),
    Identifier("SG", "NRIC", r"[STFGM]\d{7}[A-Z]", alone=True),
    Identifier("TH", "citizen number", r"\d[ -]?\d{4}[ -]?\d{5}[ -]?\d\d[ -]?\d", "th.pin"),
    Identifier("TH", "citizen number", r"\d-\d{4}-\d{5}-\d\d-\d", alone=True),
    Identifier("TR", "T.C. kimlik", r"[1-9]\d{10}", "tr.tckimlik", alone=True),
    Identifier("TW", "identity number", r"[A-Z][12]\d{8}", alone=True),
    Identifier("UA", "RNOKPP", r"\d{10}", "ua.rntrc"),
    Identifier("US", "ITIN", r"9\d\d-(?:5\d|6[0-5]|[78]\d|9[0-24-9])-\d{4}", "us.itin", alone=True),
    Identifier("UY, VE", "cedula", r"\d\.\d{3}\.\d{3}-\d|[VE]-?\d{1,2}\.?\d{3}\.?\d{3}"),
    Identifier("VN", "CCCD", r"0\d{11}"),
    Identifier("ZA", "identity number", r"\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]) ?\d{4} ?[01]\d\d", "za.idnr"),
)


@cache
def compiled() -> tuple[tuple[Identifier, re.Pattern[str]], ...]:
    """The table with its regular expressions, compiled once a process."""
    return tuple((identifier, identifier.compile()) for identifier in IDENTIFIERS)
