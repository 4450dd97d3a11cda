"""Credentials that show by their form alone, as a table.

The forms are those that the issuers document for their keys; lengths are taken with some slack, because the issuers change
them and people copy badly. Publishable keys (`pk_live_...`), account names and ids are no secrets and not here. All repeats
are possessive or bounded and every row is tried only where one of its `marks` stands in the text, so a scan is linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_FRONT = r"(?<![A-Za-z0-9])"
_BACK = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One form that credentials have. Its group `v`, where there is one, is the secret itself."""

    type: str
    issuer: str
    marks: tuple[str, ...]
    """One of these stands in any text that it matches."""
    body: str
    confidence: float = 0.8
    ignore_case: bool = False
    bounded: bool = True
    """Whether it stands between characters that are no letters or digits."""
    vague: bool = False
    """Whether it may be something harmless, so that only a value of mixed characters counts."""

    def compile(self) -> re.Pattern[str]:
        """The regular expression, for a text in plain form (see `fold.Folded.plain`)."""
        body = f"{_FRONT}(?:{self.body}){_BACK}" if self.bounded else self.body
        return re.compile(body, re.ASCII | (re.IGNORECASE if self.ignore_case else 0))


def _key(issuer: str, marks: str, body: str, *, vague: bool = False) -> Pattern:
    return Pattern("api_key", issuer, tuple(marks.split()), body, vague=vague)


_PASSWORD_IN_URL = r"[^\s/@'\"<>`]{1,256}"

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "private_key",
        "PEM, OpenSSH, PGP",
        ("PRIVATE KEY",),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[\w+/=:,.@() -]){24,16000}?"
        r"(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|\Z|(?=[^\s\w\\+/=:,.@() -]))",
        0.95,
        bounded=False,
    ),
    Pattern("private_key", "PuTTY", ("Private-Lines",), r"Private-Lines: ?\d{1,3}\s++[A-Za-z0-9+/=\s]{20,8000}+", 0.95),
    Pattern("private_key", "age", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{30,2100}+", 0.95),
    Pattern("aws_access_key", "AWS", ("AKIA", "ASIA", "ABIA"), r"(?:AKIA|ASIA|ABIA)[A-Z0-9]{14,18}+"),
    Pattern("github_token", "GitHub", ("gh", "github_pat_"), r"gh[pousr]_[A-Za-z0-9]{20,255}+|github_pat_[A-Za-z0-9_]{22,255}+"),
    Pattern(
        "gitlab_token",
        "GitLab",
        ("gl", "GR1348941"),
        r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|imt|ffct|oas|wt)-[A-Za-z0-9_.-]{14,300}+|GR1348941[\w-]{18,30}+",
    ),
    Pattern("slack_token", "Slack", ("xox", "xapp-"), r"xox[abceoprs](?:\.xox[bp])?-(?:[\w-]){12,300}+|xapp-\d-[\w-]{20,300}+"),
    Pattern(
        "stripe_key",
        "Stripe",
        ("_live_", "_test_", "whsec_"),
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9_]{12,255}+|whsec_[A-Za-z0-9+/=]{16,128}+",
    ),
    Pattern("google_api_key", "Google", ("AIza",), r"AIza[\w-]{28,45}+"),
    Pattern("npm_token", "npm", ("npm_",), r"npm_[A-Za-z0-9]{24,64}+"),
    Pattern("sendgrid_key", "SendGrid", ("SG.",), r"SG\.[\w-]{12,40}+\.[\w-]{24,80}+"),
    Pattern(
        "jwt", "JSON Web Token", ("eyJ",), r"(?<!/)eyJ[\w-]{8,2000}+\.(?:[\w-]{4,6000}+)\.[\w-]{6,2000}+(?:\.[\w-]{0,4000}+){0,2}+", 0.9
    ),
    # Incoming webhooks: whoever has the address may post.
    Pattern(
        "webhook_url",
        "Slack",
        ("hooks.slack",),
        r"(?:https?://)?hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[\w/+.-]{16,200}+",
    ),
    Pattern(
        "webhook_url",
        "Discord",
        ("/api/webhooks/",),
        r"https?://(?:\w{1,20}\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{5,25}/[\w-]{16,120}+",
    ),
    Pattern(
        "webhook_url",
        "Microsoft",
        ("webhook.office", "office.com/webhook", "logic.azure", "powerplatform"),
        r"https://[\w.-]{1,80}(?:webhook\.office\.com|outlook\.office\.com/webhook|logic\.azure\.com(?::443)?|"
        r"powerplatform\.com(?::443)?)/[^\s\"'<>]{20,600}+",
    ),
    Pattern("webhook_url", "Microsoft", ("outlook.office",), r"https://outlook\.office(?:365)?\.com/webhook/[^\s\"'<>]{20,600}+"),
    Pattern("webhook_url", "Google Chat", ("chat.googleapis",), r"https://chat\.googleapis\.com/v1/spaces/[^\s\"'<>]{16,400}+"),
    Pattern(
        "webhook_url",
        "Zapier, Make, IFTTT, Pipedream",
        ("zapier.com", "make.com/", "ifttt.com", "pipedream.net"),
        r"https://(?:hooks\.zapier\.com/hooks/catch/\d+/\w{5,40}|hook\.(?:\w{2,4}\.)?make\.com/\w{16,60}|"
        r"maker\.ifttt\.com/trigger/[\w-]{1,64}/(?:json/)?with/key/[\w-]{10,64}|\w{10,30}\.m\.pipedream\.net)[\w/-]{0,80}",
    ),
    Pattern(
        "webhook_url",
        "Feishu, DingTalk, WeCom",
        ("feishu.cn", "larksuite.com", "dingtalk.com", "qyapi.weixin"),
        r"https://(?:open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/[\w-]{10,64}|"
        r"oapi\.dingtalk\.com/robot/send\?access_token=\w{16,80}|"
        r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=[\w-]{16,60})",
    ),
    Pattern(
        "webhook_url",
        "others",
        ("hook",),
        r"https?://[\w.-]{0,40}(?:hook|hooks|webhook|"
        r"webhooks)[\w.-]{0,60}(?::\d{1,5})?/(?:[\w.~-]{1,60}/){0,6}(?P<v>[\w-]{16,200}+)",
        ignore_case=True,
        vague=True,
    ),
    Pattern(
        "webhook_url",
        "others",
        ("hook",),
        r"https?://[\w.-]{3,100}(?::\d{1,5})?/(?:[\w.~-]{1,60}/){0,5}(?:hooks?|webhooks?|incoming-?webhooks?|"
        r"incoming)/(?:[\w.~-]{1,60}/){0,4}(?P<v>[\w-]{16,200}+)",
        ignore_case=True,
        vague=True,
    ),
    # Addresses with a password inside.
    Pattern(
        "connection_string",
        "databases and queues",
        ("://",),
        r"(?:jdbc:)?(?:postgres(?:ql)?|mysqlx?|mariadb|mongodb|rediss?|valkey|amqps?|mssql|sqlserver|oracle|cockroachdb|"
        r"clickhouse|cassandra|neo4j|bolt|couchdb|db2|influxdb|kafka|nats|memcached|snowflake|redshift|trino|presto|hive|"
        r"firebird|ldaps?|etcd|elasticsearch|opensearch|rabbitmq|tidb|vertica|sqlalchemy|mqtts?|smtps?|"
        r"imaps?)(?:\+\w{1,20}){0,2}://"
        r"[^\s:/@'\"<>]{0,128}:(?P<v>" + _PASSWORD_IN_URL + r")@[^\s'\"<>,;，。、；）」]{1,300}+",
        0.9,
        ignore_case=True,
        bounded=False,
    ),
    Pattern(
        "connection_string",
        "JDBC",
        ("jdbc:",),
        r"jdbc:oracle:\w{1,10}:[^\s:/@]{1,64}/(?P<v>[^\s/@]{1,128})@[^\s'\"<>,;]{1,200}+",
        0.9,
        ignore_case=True,
    ),
    Pattern(
        "connection_string",
        "JDBC, libpq",
        ("://", "jdbc:"),
        r"(?:jdbc:)?\w{2,20}:(?:\w{2,20}:)?//[^\s'\"<>?;]{1,200}[?;&](?:[^\s'\"<>]{0,300}?[?;&])??(?:password|pwd|"
        r"sslpassword)=(?P<v>[^\s&;'\"<>]{1,128}+)[^\s'\"<>]{0,200}",
        0.9,
        ignore_case=True,
        bounded=False,
    ),
    Pattern(
        "connection_string",
        "ADO.NET, ODBC",
        ("wd=", "word=", "wd =", "word ="),
        r"(?:data source|server|host|addr|address|driver|initial catalog|database|dsn|user id|uid|username|"
        r"user)\s?=\s?[^;\n=]{1,100};(?:\s?[\w ]{1,40}\s?=\s?[^;\n=]{0,120};){0,12}\s?(?:password|"
        r"pwd)\s?=\s?(?P<v>[^;\s'\"]{3,128}+)(?:;\s?[\w ]{1,40}=[^;\s]{1,80}){0,12};?",
        0.9,
        ignore_case=True,
    ),
    Pattern(
        "connection_string",
        "libpq",
        ("password=",),
        r"(?:host|dbname|user|"
        r"port)=[^\s;]{1,100} (?:\w{2,20}=[^\s;]{1,100} ){0,8}password=(?P<v>[^\s;'\"]{3,128}+)(?: \w{2,20}=[^\s;]{1,100}"
        r"){0,8}",
        0.9,
        ignore_case=True,
    ),
    Pattern(
        "connection_string",
        "Azure",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:DefaultEndpointsProtocol|Endpoint|BlobEndpoint|AccountName|AccountEndpoint|"
        r"HostName)=[^\s]{1,300};(?:Shared)?(?:Account|Access)Key=(?P<v>[A-Za-z0-9+/=]{16,120}+)(?:;[^\s;]{1,100}){0,6}",
        0.9,
    ),
    Pattern(
        "basic_auth",
        "URL",
        ("://",),
        r"(?:https?|ftps?|sftp|ssh|git|svn|wss?|rtsps?|smb|webdavs?|davs?|socks5h?|vnc|rdp|telnet|git\+https?|"
        r"git\+ssh)://[^\s:/@'\"<>]{1,128}:(?P<v>" + _PASSWORD_IN_URL + r")@[^\s'\"<>,;，。、；）」]{1,300}+",
        0.9,
        ignore_case=True,
        bounded=False,
    ),
    Pattern(
        "basic_auth",
        "HTTP",
        ("asic ",),
        r"(?:authorization['\"]?\s?[:=]\s?['\"]?basic|\bbasic auth\w{0,10}:?|['\"`]basic|"
        r": ?basic) (?P<v>[A-Za-z0-9+/]{8,512}+={0,2})",
        ignore_case=True,
        bounded=False,
    ),
    Pattern(
        "basic_auth",
        "curl",
        ("curl", "wget", "http "),
        r"(?:curl|http|https)\s(?:[^\n|;]{0,200}\s)?(?:-u|--user|-a|"
        r"--auth)[ =]?['\"]?[^\s:'\"]{1,64}:(?P<v>[^\s'\"]{3,128}+)['\"]?",
        bounded=False,
    ),
    # Keys of vendors that have no type of their own.
    _key("Anthropic", "sk-ant-", r"sk-ant-[\w-]{16,220}+"),
    _key(
        "OpenAI, OpenRouter, DeepSeek and many more",
        "sk-",
        r"sk-(?:proj-|svcacct-|admin-|or-v1-|lf-|live-|test-)?[\w-]{18,220}+",
        vague=True,
    ),
    _key("Hugging Face", "hf_ api_org_", r"hf_[A-Za-z0-9]{24,60}+|api_org_[A-Za-z0-9]{24,60}+"),
    _key("Replicate", "r8_", r"r8_[A-Za-z0-9]{30,50}+"),
    _key(
        "Groq, xAI, Perplexity, Tavily, NVIDIA, Pinecone, LangSmith, Fireworks, Together, Voyage",
        "gsk_ xai- pplx- tvly- nvapi- pcsk_ lsv2_ fw_ tgp_ pa-",
        r"gsk_[A-Za-z0-9]{30,80}+|xai-[A-Za-z0-9]{40,120}+|pplx-[A-Za-z0-9]{32,80}+|tvly-[\w-]{20,80}+|"
        r"nvapi-[\w-]{40,100}+|pcsk_\w{30,120}+|lsv2_(?:pt|sk)_[0-9A-Za-z]{28,36}_[0-9A-Za-z]{10}|fw_[A-Za-z0-9]{20,40}+|"
        r"tgp_v1_[\w-]{30,60}+|pa-[\w-]{40,60}+",
    ),
    _key("Google OAuth", "GOCSPX- ya29. 1//0", r"GOCSPX-[\w-]{20,40}+|ya29\.[\w-]{30,400}+|1//0[\w-]{30,200}+"),
    _key("Azure AD", "Q~", r"[\w.~-]{3}\dQ~[\w.~-]{31,34}+"),
    _key("Azure storage and others", "==", r"[A-Za-z0-9+/]{86}==(?!=)", vague=True),
    _key("Azure SAS", "sig=", r"sv=\d{4}-\d\d-\d\d&[^\s\"'<>]{10,300}?sig=[\w%+/=-]{30,100}+"),
    _key("Twilio", "SK", r"SK[0-9a-f]{28,36}"),
    _key(
        "Mailgun, Mailchimp, Postmark, Resend, Brevo, Mailjet",
        "key- -us re_ xkeysib- mlsn. md-",
        r"key-[0-9A-Za-z]{28,36}|[0-9a-f]{28,36}-us\d{1,2}|re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{20,30}+|"
        r"xkeysib-[0-9A-Za-z]{40,80}-\w{10,20}|mlsn\.[0-9A-Za-z]{50,80}|md-[\w-]{20,24}",
    ),
    _key("DigitalOcean", "_v1_", r"do[opr]_v1_[0-9A-Za-z]{40,64}+"),
    _key("Shopify", "shp", r"shp(?:at|ca|pa|ss|tka)_[0-9A-Za-z]{28,40}+"),
    _key("PyPI", "pypi-", r"pypi-[\w-]{40,600}+"),
    _key("Docker", "dckr_", r"dckr_[op]at_[\w-]{20,64}+"),
    _key("Databricks", "dapi dose", r"dapi[0-9A-Za-z]{28,36}(?:-\d)?|dose[0-9A-Za-z]{28,36}"),
    _key("Atlassian, Bitbucket", "ATATT3 ATCTT3 ATBB ATOA", r"AT[AC]TT3[\w=-]{40,300}+|ATBB[A-Za-z0-9]{20,60}+|ATOA[\w-]{40,200}+"),
    _key("Telegram", ":A", r"\d{8,10}:A[\w-]{32,36}+"),
    _key("Discord", ".", r"[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6,7}\.[\w-]{27,45}+|mfa\.[\w-]{80,95}+"),
    _key("Square", "sq0 EAAA", r"sq0(?:atp|csp|idp)-[\w-]{20,50}+|EAAA[\w-]{56,70}+"),
    _key(
        "PayPal, Braintree, Adyen, Checkout, Razorpay, Flutterwave, Paystack, Mollie",
        "access_token$ AQE rzp_ FLWSECK sk_ live_ test_ APP_USR-",
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9A-Za-z]{28,36}|AQE[\w+/=]{40,300}+|rzp_(?:live|"
        r"test)_[A-Za-z0-9]{14,24}+|FLWSECK(?:_TEST)?-[0-9A-Za-z]{12,40}-X|sk_(?:sbox_)?[a-z0-9]{26,40}+|(?:live|"
        r"test)_[A-Za-z0-9]{30,40}+|APP_USR-[\w-]{30,100}+",
        vague=True,
    ),
    _key("Cloudflare", "v1.0- cfut_ cfat_ cfk_", r"v1\.0-[0-9A-Za-z]{21,27}-[0-9A-Za-z]{100,160}+|cf(?:ut|at|k)_[\w-]{36,60}+"),
    _key("HashiCorp", "hv .atlasv1.", r"hv[bsr]\.[\w-]{20,300}+|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,80}+"),
    _key(
        "1Password",
        "ops_eyJ A3-",
        r"ops_eyJ[\w+/=-]{60,2000}+|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|"
        r"[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
    _key(
        "Sentry, Grafana, New Relic, Datadog, Dynatrace, PostHog, Honeycomb",
        "sntry glc_ glsa_ NRAK- NRII- NRRA- NRJS- ddpat_ dt0 phx_ phs_ hcaik_",
        r"sntry[su]_[\w+/=-]{40,300}+|gl(?:c|sa)_[\w+/=-]{30,300}+|NR(?:AK|II|RA|JS|IQ)-[\w-]{18,60}+|ddpat_\w{30,80}+|"
        r"dt0[a-z]\d\d\.[A-Z0-9]{21,27}\.[A-Z0-9]{60,70}+|ph[xs]_[A-Za-z0-9]{40,60}+|hcaik_\w{50,70}+",
    ),
    _key(
        "Doppler, Linear, Figma, Postman, RubyGems, Notion, HubSpot, Airtable, Asana, Contentful, Typeform",
        "dp. lin_ figd_ PMAK- rubygems_ ntn_ secret_ pat- pat CFPAT- tfp_",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{38,46}+|lin_(?:api|oauth)_[A-Za-z0-9]{30,64}+|"
        r"figd_[\w-]{30,60}+|PMAK-[0-9A-Za-z]{21,27}-[0-9A-Za-z]{30,38}|rubygems_[0-9A-Za-z]{40,60}+|"
        r"ntn_[A-Za-z0-9]{40,60}+|secret_[A-Za-z0-9]{40,50}+|pat-(?:na|eu)\d-[0-9a-f-]{32,40}|"
        r"pat[A-Za-z0-9]{14}\.[0-9A-Za-z]{56,72}|CFPAT-[\w-]{40,50}+|tfp_[\w-]{40,70}+",
    ),
    _key(
        "Heroku, Fly, Render, Netlify, Vercel, Supabase, PlanetScale, Neon, Railway, Terraform",
        "HRKU- fo1_ fm2_ rnd_ nfp_ nfc_ vcp_ sbp_ sb_secret_ pscale_ napi_",
        r"HRKU-[\w-]{36,70}+|(?:fo1|fm2)_[\w+/=,-]{40,800}+|rnd_[A-Za-z0-9]{26,40}+|nf[pc]_[A-Za-z0-9]{34,50}+|"
        r"vcp_[A-Za-z0-9]{24,60}+|sbp_[0-9A-Za-z]{40,48}|sb_secret_[\w-]{24,50}+|pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}+|"
        r"napi_[a-z0-9]{40,70}+",
    ),
    _key(
        "Alibaba, Tencent, Yandex, Facebook",
        "LTAI AKID AQVN y0_ EAA",
        r"LTAI[A-Za-z0-9]{12,26}+|AKID[A-Za-z0-9]{28,36}+|AQVN[\w-]{35,40}+|y0_[\w-]{50,70}+|EAA[A-Za-z0-9]{60,250}+",
    ),
    _key(
        "SonarQube, JFrog, NuGet, crates.io, Clojars, CircleCI, Buildkite, Codecov, Travis",
        "sq AKCp oy2 cio CLOJARS_ CCIPAT_ CCIPRJ_ bkua_",
        r"sq[uap]_[0-9A-Za-z]{35,45}|AKCp[A-Za-z0-9]{60,80}+|oy2[a-z0-9]{38,48}|cio[A-Za-z0-9]{28,36}|"
        r"CLOJARS_[0-9a-z]{53,67}|CCI(?:PAT|PRJ)_[A-Za-z0-9]{18,30}_[0-9A-Za-z]{35,45}|bkua_[0-9A-Za-z]{35,45}",
        vague=True,
    ),
    _key(
        "Tailscale, ngrok, Mapbox, LaunchDarkly, EasyPost, Zendesk, Okta, Auth0, Dropbox, Twitch, Intercom, Adobe",
        "tskey- sk.eyJ sdk- EZ sl. p8e- mob- SSWS",
        r"tskey-[a-z]{3,8}-[\w-]{16,80}+|sk\.eyJ[\w-]{50,200}+\.[\w-]{20,30}+|(?:sdk|"
        r"mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9A-Za-z]{12}|EZ[AT]K[A-Za-z0-9]{40,70}+|sl\.[\w-]{100,1500}+|"
        r"p8e-[a-z0-9]{28,36}|SSWS 00[\w-]{38,42}+",
    ),
    _key(
        "Slack-like bots, Zoom, Mattermost, ClickUp, Todoist, Jira, Trello, Scaleway, Hetzner, Linode, Vultr, OVH",
        "pk_ ATTA SCW",
        r"pk_\d{6,10}_[A-Z0-9]{28,36}|ATTA[0-9A-Za-z]{60,80}+|SCWSECRET[A-Z0-9-]{20,40}+",
    ),
)
"""Tried in this order; where two overlap, the earlier one stands."""


@cache
def compiled() -> tuple[tuple[Pattern, re.Pattern[str]], ...]:
    """The table with its regular expressions, compiled once a process."""
    return tuple((pattern, pattern.compile()) for pattern in PATTERNS)
