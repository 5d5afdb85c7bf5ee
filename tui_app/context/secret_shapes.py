"""Secrets known by their own shape: the keys of vendors, and hashes of passwords."""

import re

from tui_app.context.secret_words import MASK

_KEY_SHAPES = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:"  # also right behind a JSON text's line break
    r"(?<![_-])sk-(?:(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{16,250}"  # OpenAI, Anthropic, OpenRouter
    r"|(?=[a-z_-]{0,200}[A-Z])[A-Za-z_-]{16,250}|(?:[a-z]{1,12}-){0,3}[a-z_]{16,250})"
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,250}|whsec_[A-Za-z0-9]{16,250}"  # Stripe
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}"  # GitHub
    r"|glpat-[A-Za-z0-9_-]{16,250}"  # GitLab
    r"|xox[abeoprs]-[A-Za-z0-9-]{8,250}|xapp-[A-Za-z0-9-]{10,250}"  # Slack
    r"|AIza[A-Za-z0-9_-]{30,60}|ya29\.[A-Za-z0-9_-]{20,500}"  # Google
    r"|hf_[A-Za-z0-9]{24,255}|gsk_[A-Za-z0-9]{24,255}|xai-[A-Za-z0-9]{30,250}"  # Hugging Face, Groq, xAI
    r"|nvapi-[A-Za-z0-9_-]{30,250}|pplx-[A-Za-z0-9]{30,250}|r8_[A-Za-z0-9]{30,250}"  # further model hosts
    r"|npm_[A-Za-z0-9]{24,255}|pypi-(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{24,500}"  # package registries
    r"|dop_v1_[A-Za-z0-9]{24,255}|shpat_[A-Za-z0-9]{24,255}"  # DigitalOcean, Shopify
    r"|GOCSPX-[A-Za-z0-9_-]{16,80}"  # Google, for applications
    r"|SG\.[A-Za-z0-9_-]{16,80}\.[A-Za-z0-9_-]{16,80}"  # SendGrid
    r"|eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}"  # JSON web tokens
    r")"
)
_MORE_SHAPES = re.compile(
    r"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrt]))(?=[0-9ACDFGNPSa-gh-nprst])(?:"
    r"hv[sbr]\.[A-Za-z0-9_-]{20,250}"  # Vault
    r"|(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"  # Telegram
    r"|dapi[0-9a-f]{32}(?:-[0-9]{1,2})?(?![0-9a-z])"  # Databricks
    r"|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,250}"  # Docker
    r"|dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"  # Doppler
    r"|do[or]_v1_[A-Za-z0-9]{24,255}"  # DigitalOcean
    r"|ntn_[A-Za-z0-9]{40,60}|secret_(?=[A-Za-z]{0,42}[0-9])[A-Za-z0-9]{43}(?![A-Za-z0-9_])"  # Notion
    r"|AT(?:ATT|CTT)3[A-Za-z0-9_=-]{20,300}|ATBB[A-Za-z0-9]{24,60}"  # Atlassian, Bitbucket
    r"|lin_(?:api|oauth)_[A-Za-z0-9]{32,80}|fig[dour]{1,2}_[A-Za-z0-9_-]{20,80}"  # Linear, Figma
    r"|sb[ps]_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,80}"  # Supabase
    r"|(?<![_-])key-[0-9a-f]{32}(?![0-9A-Za-z-])"  # Mailgun
    r"|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9A-Za-z-])"
    r"|NR(?:AK|AA|RA|II|IQ|JS|BR|SP)-[A-Za-z0-9_-]{16,60}|[0-9a-z]{34,40}NRAL"  # New Relic
    r"|sntry[su]_[A-Za-z0-9_+/=-]{40,300}"  # Sentry
    r"|pscale_(?:tkn|pw|oauth|otkn)_[A-Za-z0-9_.=-]{30,100}"  # PlanetScale
    r"|AGE-SECRET-KEY-1[A-Z0-9]{50,70}|SK[0-9a-f]{32}(?![A-Za-z0-9])"  # age, Twilio
    r"|gl(?:ptt|dt|rt|cbt|soat|ft|imt|agent)-[A-Za-z0-9_-]{16,250}"  # GitLab
    r"|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"  # Grafana
    r"|shp(?:ca|pa|ss)_[A-Za-z0-9]{24,255}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}"  # Shopify, Postman
    r"|pul-[0-9a-f]{40}|tskey-[a-z]{2,12}-[A-Za-z0-9-]{16,120}"  # Pulumi, Tailscale
    r"|nfp_[A-Za-z0-9]{36,60}"  # Netlify
    r"|rubygems_[0-9a-f]{48}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,90}"  # RubyGems, Terraform
    r"|lsv2_(?:pt|sk)_[A-Za-z0-9_]{30,80}|tvly-[A-Za-z0-9-]{28,80}"  # LangSmith, Tavily
    r"|csk-[A-Za-z0-9]{40,80}"  # Cerebras
    r")"
)
_HASH_DATA = r"[./A-Za-z0-9+]"
_HASHES = re.compile(
    r"\$(?:apr1|1)\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22}(?![./A-Za-z0-9])"
    r"|\$[56]\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43,86}"
    r"|\$(?:g?y|7)\$[./A-Za-z0-9]{1,20}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}"  # yescrypt
    r"|\$2[abxy]?\$[0-9]{2}\$[./A-Za-z0-9]{53}"  # bcrypt
    rf"|\$argon2(?:id|i|d)\$v=[0-9]{{1,4}}\$[a-z0-9=,]{{1,60}}\${_HASH_DATA}{{8,100}}\${_HASH_DATA}{{16,200}}={{0,2}}"
    rf"|pbkdf2_sha(?:1|256|512)\$[0-9]{{1,9}}\$[A-Za-z0-9]{{1,40}}\${_HASH_DATA}{{20,100}}={{0,2}}"
    r"|\{S?SHA(?:256|512)?\}[A-Za-z0-9+/]{27,120}={0,2}"
)
"""What ``/etc/shadow``, ``htpasswd`` and web frameworks keep."""


def mask_shapes(text: str) -> str:
    """Mask the keys and hashes that can be told by their form; see ``mask_secrets``."""
    return _HASHES.sub(MASK, _MORE_SHAPES.sub(MASK, _KEY_SHAPES.sub(MASK, text)))
