"""What each type of secret looks like, and what only looks like it. All values are invented or published test values."""

from __future__ import annotations

import pytest
from memscope_secrets import memscope_detect_secrets

from memscope.contracts.secrets import SecretFinding
from memscope.model.memory import Sensitivity

FOUND = [
    ("aws_access_key", "AKIAIOSFODNN7EXAMPLE", "the documentation's own AKIAIOSFODNN7EXAMPLE stays in the sample"),
    ("aws_access_key", "ASIAQ3EGFAKE7TPL2W5X", "session key ASIAQ3EGFAKE7TPL2W5X, expires tonight"),
    ("aws_secret_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("aws_secret_key", "9rTfakeYbN2+kLm0/QwErTyUiOpAsDfGhJkLzX4c", "AKIAIOSFODNN7EXAMPLE / 9rTfakeYbN2+kLm0/QwErTyUiOpAsDfGhJkLzX4c"),
    ("github_token", "ghp_FAKEexample0FAKEexample0FAKEexample0", "runner reads ghp_FAKEexample0FAKEexample0FAKEexample0 from its env"),
    ("github_token", "github_pat_11FAKE7Q0aBcDeFgHiJkL_mNoPqRsT", "PAT: github_pat_11FAKE7Q0aBcDeFgHiJkL_mNoPqRsT."),
    ("gitlab_token", "glpat-FAKEexample0FAKEexam", "Token glpat-FAKEexample0FAKEexam, bis Jahresende"),
    ("gitlab_token", "gldt-FAKEfake0123456789ab", "deploy token gldt-FAKEfake0123456789ab, read only"),
    ("slack_token", "xoxb-000000000000-000000000000-FAKEfakeFAKEfake", "bot xoxb-000000000000-000000000000-FAKEfakeFAKEfake"),
    ("slack_token", "xapp-1-A0FAKE111-1234567890123-fakefake", "socket mode: xapp-1-A0FAKE111-1234567890123-fakefake"),
    ("stripe_key", "sk_live_FAKEfake0000FAKEfake0000", "payments go through sk_live_FAKEfake0000FAKEfake0000, ask Jo"),
    ("stripe_key", "rk_test_FAKEfake0000FAKEfake", "restricted: rk_test_FAKEfake0000FAKEfake"),
    ("google_api_key", "AIzaFAKEfake0000FAKEfake0000FAKEfake000", "maps key AIzaFAKEfake0000FAKEfake0000FAKEfake000"),
    ("google_api_key", "AIzaFAKEexample0FAKEexample0FAKEexample", "MAPS=AIzaFAKEexample0FAKEexample0FAKEexample"),
    ("npm_token", "npm_FAKEfake0000FAKEfake0000FAKEfake0000", "_authToken=npm_FAKEfake0000FAKEfake0000FAKEfake0000"),
    ("npm_token", "npm_0123456789abcdefFAKEfakeFAKEfake0123", "publish with npm_0123456789abcdefFAKEfakeFAKEfake0123"),
    (
        "sendgrid_key",
        "SG.FAKEfake0000FAKEfake00.FAKEfake0000FAKEfake0000FAKE",
        "mailer: SG.FAKEfake0000FAKEfake00.FAKEfake0000FAKEfake0000FAKE",
    ),
    ("sendgrid_key", "SG.aFAKEb0000cFAKEd.eFAKEf1111gFAKEh2222iFAKE", "SG.aFAKEb0000cFAKEd.eFAKEf1111gFAKEh2222iFAKE ist neu"),
    (
        "webhook_url",
        "https://hooks.slack.com/services/T00FAKE00/B00FAKE00/FAKEexample0",
        "to https://hooks.slack.com/services/T00FAKE00/B00FAKE00/FAKEexample0",
    ),
    ("webhook_url", "https://chat.example/hooks/9fakeq7w8e9r0t1y2u3i4o", "incoming: https://chat.example/hooks/9fakeq7w8e9r0t1y2u3i4o"),
    ("api_key", "EXAMPLE-7d1c9e20b4aa48f1a2FAKE", "Header X-Api-Key: EXAMPLE-7d1c9e20b4aa48f1a2FAKE"),
    ("api_key", "sk-proj-FAKEabc123DEF456ghi789JKL012", "billing moved to sk-proj-FAKEabc123DEF456ghi789JKL012"),
    ("api_key", "sk-ant-api03-FAKE0aBcDeFgHiJkLmNo", "evals: sk-ant-api03-FAKE0aBcDeFgHiJkLmNo"),
    ("api_key", "hf_FAKEabcdefGHIJKLmnopQRSTuvwxYZ0123", "model access hf_FAKEabcdefGHIJKLmnopQRSTuvwxYZ0123"),
    ("api_key", "dapi0fa4e1fa4e2fa4e3fa4e4fa4e5fa4e6f", "lake: dapi0fa4e1fa4e2fa4e3fa4e4fa4e5fa4e6f"),
    ("api_key", "hvs.CAESIFAKEfakeFAKE0123456789", "vault hvs.CAESIFAKEfakeFAKE0123456789"),
    ("api_key", "7012345678:AAFakeFAKE0123456789abcdefghijklmno", "Bot 7012345678:AAFakeFAKE0123456789abcdefghijklmno"),
    (
        "jwt",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJGQUtFIn0.FAKEsignature00",
        "session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJGQUtFIn0.FAKEsignature00 leaked",
    ),
    ("jwt", "eyJhbGciOiJub25lIn0.eyJyb2xlIjoiZmFrZSJ9.ZmFrZWZha2U", "Bearer eyJhbGciOiJub25lIn0.eyJyb2xlIjoiZmFrZSJ9.ZmFrZWZha2U"),
    (
        "private_key",
        None,
        "key:\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAFAKEFAKEFAKE\n-----END OPENSSH PRIVATE KEY-----\nthanks",
    ),
    ("private_key", None, '{"private_key":"-----BEGIN PRIVATE KEY-----\\nMIIEvFAKEfakeFAKEfake0123\\n-----END PRIVATE KEY-----\\n"}'),
    (
        "connection_string",
        "postgres://rota_ro:FAKEpass99@db4.example:5432/rota",
        "replica: postgres://rota_ro:FAKEpass99@db4.example:5432/rota (read only)",
    ),
    ("connection_string", None, "Server=tcp:db9.example,1433;Initial Catalog=orders;User ID=svc;Password=Fake#Lent3;Encrypt=True"),
    ("password", "Kastanie-FAKE-77!", "user capture, password Kastanie-FAKE-77!"),
    ("password", "FAKE-Tsubame-88", "共有アカウント ops-bridge のパスワード「FAKE-Tsubame-88」が漏れた可能性"),
    ("password", "Pumpe-FAKE-77", "Benutzer runner, Passwort Pumpe-FAKE-77."),
    ("password", "Gamja!fake53", "창고 비밀번호는 Gamja!fake53 입니다"),
    ("password", "Lizhi_fake66", "门禁系统后台密码:Lizhi_fake66"),
    ("password", "mirabelle#fake8", "DB_PASS='mirabelle#fake8'"),
    ("password", "Plum-fake-71!", "use Plum-fake-71! as the password"),
    ("basic_auth", "https://robot:fakeRobotPw00@deck7.example/api", "curl https://robot:fakeRobotPw00@deck7.example/api returns it"),
    ("basic_auth", None, "o proxy usa Authorization: Basic RkFLRTpFWEFNUExF nas chamadas"),
    ("credit_card", "4111 1111 1111 1111", "team card 4111 1111 1111 1111, exp 09/29"),
    ("credit_card", "371449635398431", "amex 371449635398431 on file"),
    ("iban", "DE89 3704 0044 0532 0130 00", "Erstattung auf DE89 3704 0044 0532 0130 00, Freigabe Kasse 2"),
    ("iban", "GB82WEST12345698765432", "refund to GB82WEST12345698765432"),
    ("bank_account", "12345678", "sort code 00-00-00, account number 12345678, June"),
    ("bank_account", "1234567", "振込先:ひなげし銀行 本店 普通 1234567 レイ タロウ"),
    ("us_ssn", "219-09-9999", "start 3 March, SSN 219-09-9999, W-4 received"),
    ("us_ssn", "078-05-1120", "their social is 078-05-1120"),
    ("uk_nino", "AB123456C", "NI number AB123456C"),
    ("uk_nino", "QQ 12 34 56 C", "starter form, NI number QQ 12 34 56 C, begins 2 Feb"),
    ("passport", "C01X00T47", "visa file: passport C01X00T47, letter sent"),
    ("passport", "M12345678", "여권번호 M12345678 로 발권"),
    ("phone", "+44 7700 900417", "mobile +44 7700 900417, arrives late"),
    ("phone", "(415) 555-0132", "call Jo, (415) 555-0132, she has the fob"),
    ("phone", "090-0000-1234", "早川さんの個人携帯は090-0000-1234です"),
    ("email", "thea.ramsbrook@example.com", "mail thea.ramsbrook@example.com, she has the key"),
    ("email", "ostroumova@pochta.example", "Лидия, ostroumova@pochta.example."),
    ("home_address", "14 rue des Trois-Fontaines", "M. Tellien, 14 rue des Trois-Fontaines, 99120 Valmeroux. Sonner deux fois"),
    ("home_address", None, "家住杭州市西湖区文三路188号4幢301室"),
    ("home_address", None, "Wohnt jetzt Lindenstr. 48, 50674 Köln"),
    ("date_of_birth", "03/11/1979", "for the badge: Lorcan Whitebeam, born 03/11/1979"),
    ("date_of_birth", "1977年12月8日", "生年月日:1977年12月8日"),
    ("salary", "GBP 96,500", "Offer to Idris Valcourt: base GBP 96,500, bonus up to 20 %"),
    ("salary", "9 800", "Pensja Agaty: 9 800 zł brutto od maja"),
    ("health", None, "Udo ist seit Montag in der Tagesklinik wegen Depression"),
    ("health", None, "戸田さん、適応障害の診断書を提出。9月末まで休職"),
]
NATIONAL = [
    ("44051401359", "Umowa zlecenie, PESEL 44051401359, start w poniedziałek"),
    ("111.444.777-35", "Davi Sampaio, CPF 111.444.777-35"),
    ("12345678Z", "DNI 12345678Z de la nueva cajera"),
    ("X1234567L", "NIE X1234567L, alta en mayo"),
    ("RSSMRA80A01H501U", "Ettore Finti, CF RSSMRA80A01H501U"),
    ("111222333", "J. Verzonnen, BSN 111222333"),
    ("10000000146", "T.C. kimlik no 10000000146"),
    ("11010519491231002X", "申请人身份证号 11010519491231002X,缺第二页"),
    ("900101-1234567", "가입자 주민등록번호 900101-1234567 가 보임"),
    ("2341 2341 2346", "आधार 2341 2341 2346"),
    ("ABCDE1234F", "पैन ABCDE1234F है"),
    ("811218-9876", "Personnummer 811218-9876"),
    ("070761-4285", "CPR-nummer 070761-4285, ny elev"),
    ("131052-308T", "henkilötunnus 131052-308T"),
    ("15108695088", "Fødselsnummer til Sindre: 15108695088"),
    ("36574261809", "Steuer-ID 36574261809 nachgetragen"),
    ("756.9217.0769.85", "AHV-Nr. 756.9217.0769.85"),
    ("710319/2745", "rodné číslo 710319/2745"),
    ("2 51 11 14 168 025 88", "n° de sécu 2 51 11 14 168 025 88 : dossier complet"),
    ("BOXW310820HNERXN09", "CURP BOXW310820HNERXN09 de la becaria"),
    ("12.531.909-2", "RUT 12.531.909-2 para el contrato"),
    ("112-233-445 95", "СНИЛС 112-233-445 95"),
    ("6433435F", "PPS number 6433435F"),
    ("85.07.30-033.28", "NISS 85.07.30-033.28, contrat étudiant"),
    ("A123456789", "身分證字號 A123456789,下週報到"),
    ("S7712345J", "NRIC S7712345J, pass needed"),
    ("1-1007-01234-56-7", "เลขบัตรประชาชน 1-1007-01234-56-7"),
    ("046 454 286", "SIN 046 454 286 on the T4"),
    ("943 476 5919", "NHS number 943 476 5919 on the referral"),
    ("8001015009087", "ID number 8001015009087, security officer"),
    ("35202-1234567-1", "CNIC 35202-1234567-1"),
    ("079203012345", "CCCD 079203012345 của bạn thực tập"),
]
NOT_FOUND = [
    "Rotate the API keys every 90 days and keep them in the vault.",
    "Password policy: at least 14 characters, checked against breach lists.",
    "Reset your password at https://id.example/reset, the link works for 30 minutes.",
    "export API_TOKEN=${API_TOKEN} before you run it; password: <your password>",
    "AKIAXXXXXXXXXXXXXXXX is what a key looks like, xoxb-xxxx-xxxx for Slack, api_key: YOUR-API-KEY-HERE",
    "connect with postgresql://${DB_USER}:${DB_PASS}@db/main, template postgres://USER:PASSWORD@HOST:5432/DB",
    "postgres://db4.example:5432/rota needs no login from inside",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "ghp_short and glpat-short and npm_config_loglevel and SG.note are not tokens",
    "sk-learn 1.5 is needed; sk_live_ is the prefix; AIza is another; key-based routing stays",
    "The hook documentation is at https://docs.example/webhooks/getting-started",
    "eyJ is how a JSON Web Token begins; header.payload.signature",
    "The token bucket refills at 200 requests per second, burst 400.",
    "Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke the build.",
    "Request id 550e8400-e29b-41d4-a716-446655440000 timed out twice.",
    "密码长度至少12位,每季度更换一次。パスワードは90日ごとに変更してください。",
    "Order 4111-2299-8812 shipped, tracking 1Z999AA10123456784, ISBN 978-3-16-148410-0.",
    "The test number 4111 1111 1111 1112 fails the check digit.",
    "IBAN fields hold 22 characters for DE accounts, DE89 is only the beginning.",
    "SSN fields are masked as ***-**-1234 in the export; part 12-34-5678.",
    "NINO format check accepts two letters, six digits and a letter.",
    "Passport scanning ships in release 8, needs the new camera, budget 12345.",
    "Account KA-50233 was renamed, 12,480.00 EUR due 14.02.2026.",
    "Meeting 2026-03-14 10:00-11:30, room 4.12; coordinates 52.520008, 13.404954.",
    "The hotline gets 300 calls a day, average wait 40 s, 1,204,331 requests.",
    "Send questions to support@harbour.example or no-reply@harbour.example.",
    "Our warehouse moved to Industriestraße 14, deliveries via gate 2.",
    "Museum, Kirchplatz 4, open Tue to Sun.",
    "Die Genossenschaft wurde am 14.06.1923 gegründet, Jubiläum am 3.5.2026.",
    "Salary bands for engineers are reviewed in October, range 60-95k.",
    "Payroll run closes on the 25th, 212 payslips, no errors.",
    "Health check on /healthz returns 200; customer health score fell to 61.",
    "The study enrolled 120 patients with diabetes, primary endpoint met.",
    "Sick leave policy: doctor's note from day three, form in the portal.",
    "Nummer 44051401358 und 111 444 777 36 sind Rechnungen, keine Ausweise",
    "Error code 50041 means the printer is offline; discount code SPRING26 until Sunday.",
]


def _found(text: str) -> list[SecretFinding]:
    return memscope_detect_secrets(text)


@pytest.mark.parametrize(("type_", "value", "text"), FOUND)
def test_finds_it_where_it_stands(type_: str, value: str | None, text: str) -> None:
    """The type is found, and its range is the value exactly."""
    spans = [text[finding.start : finding.end] for finding in _found(text) if finding.type == type_]
    assert spans, [finding.type for finding in _found(text)]
    if value is not None:
        assert value in spans


@pytest.mark.parametrize(("value", "text"), NATIONAL)
def test_finds_national_numbers(value: str, text: str) -> None:
    """Numbers that states give to persons, of more than twenty countries."""
    assert value in [text[finding.start : finding.end] for finding in _found(text) if finding.type == "national_id"]


@pytest.mark.parametrize("text", NOT_FOUND)
def test_leaves_ordinary_text_alone(text: str) -> None:
    """Talk about keys, templates of them, and numbers that are something else."""
    assert [(finding.type, text[finding.start : finding.end]) for finding in _found(text)] == []


def test_levels_and_kinds() -> None:
    """Credentials are marked as such; contact data is restricted, everything else highly restricted."""
    text = "Jo Hart, jo.hart@example.org, +44 7700 900417, born 03/11/1979, DE89 3704 0044 0532 0130 00, password Kastanie-FAKE-77!"
    seen = {finding.type: (finding.sensitivity, finding.credential) for finding in _found(text)}
    assert seen == {
        "email": (Sensitivity.RESTRICTED, False),
        "phone": (Sensitivity.RESTRICTED, False),
        "date_of_birth": (Sensitivity.RESTRICTED, False),
        "iban": (Sensitivity.HIGHLY_RESTRICTED, False),
        "password": (Sensitivity.HIGHLY_RESTRICTED, True),
    }


def test_a_checksum_makes_sure() -> None:
    """Confidence tells a number whose check digits hold from one that only has the form."""
    good = _found("DE89 3704 0044 0532 0130 00")[0]
    bad = _found("DE88 3704 0044 0532 0130 00")[0]
    assert good.confidence > 0.9 > bad.confidence
