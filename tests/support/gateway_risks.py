"""The tests that show that each risk of OWASP's API Security Top 10 (2023) is met."""

from __future__ import annotations

_PLANE = "plane/test_gateway.py"
_PLANE_BILLING = "postgres/test_gateway_billing.py"
_PLANE_SCHEMA = "plane/test_gateway_schema.py"
_IDEMPOTENCY = "unit/gateway/http/test_idempotency.py"
_LIMITS = "unit/gateway/http/test_limits.py"
_MIDDLEWARE = "unit/gateway/http/test_middleware.py"
_PROBLEMS = "unit/gateway/http/test_problems.py"
_KEY_SET = "unit/gateway/identity/test_key_set.py"
_KEY_SOURCES = "unit/gateway/identity/test_key_sources.py"
_KEYS = "unit/gateway/identity/test_keys.py"
_REGISTRATION = "unit/gateway/identity/test_registration.py"
_REVIEWS = "unit/gateway/identity/test_reviews.py"
_SECRETS = "unit/gateway/identity/test_secrets.py"
_TOKENS = "unit/gateway/identity/test_tokens.py"
_REFUSALS = "unit/gateway/jobs/test_refusals.py"
_SUBMISSIONS = "unit/gateway/jobs/test_submissions.py"
_ACCESS = "unit/gateway/owasp/test_access.py"
_PROPERTIES = "unit/gateway/owasp/test_properties.py"
_UPSTREAM = "unit/gateway/owasp/test_upstream.py"
_BILLING = "unit/gateway/routes/test_billing.py"
_KEYS_OVER_HTTP = "unit/gateway/routes/test_keys.py"
_LOGS = "unit/gateway/routes/test_logs.py"
_LISTENING = "unit/gateway/test_listening.py"
SHOWN: dict[str, dict[str, tuple[str, str]]] = {
    "API1": {
        "every-id-of-somebody-else": (
            _ACCESS,
            "test_who_may_not_is_answered_as_if_there_were_nothing",
        ),
        "every-id-is-tried": (_ACCESS, "test_no_operation_and_no_id_of_one_has_been_forgotten"),
        "a-job-of-another-user": (_PLANE, "test_what_is_somebody_elses_is_not_there"),
    },
    "API2": {
        "nobody-without-credentials": (_ACCESS, "test_nobody_is_answered_without_credentials"),
        "attacks-on-web-tokens": (_TOKENS, "test_it_is_refused"),
        "guessing-a-key": (
            _LIMITS,
            "test_an_address_that_keeps_failing_is_refused_whatever_it_shows",
        ),
        "secrets-of-256-bits": (_SECRETS, "test_a_secret_has_256_random_bits"),
        "comparing-takes-as-long": (
            _SECRETS,
            "test_a_prefix_that_nobody_has_takes_as_long_as_a_wrong_secret",
        ),
        "no-secret-is-stored": (_KEYS, "test_the_secret_is_nowhere_in_the_store"),
        "a-revoked-key": (_KEYS, "test_a_revoked_key_ends_at_once"),
        "a-used-registration-token": (
            _REGISTRATION,
            "test_of_many_agents_at_once_only_as_many_as_allowed_use_a_token",
        ),
        "a-token-of-another-service-account": (_REVIEWS, "test_other_tokens_are_refused"),
    },
    "API3": {
        "mass-assignment": (_PROPERTIES, "test_nobody_assigns_what_is_not_asked_for"),
        "secrets-in-answers": (
            _PROPERTIES,
            "test_answers_have_no_secret_but_that_which_is_shown_once",
        ),
        "an-admins-key-is-a-users": (_KEYS_OVER_HTTP, "test_an_admins_key_is_that_of_a_user"),
    },
    "API4": {
        "requests": (_LIMITS, "test_who_asks_too_often_waits_and_nobody_else"),
        "bodies": (_MIDDLEWARE, "test_a_body_that_turns_out_too_large_is_read_no_further"),
        "fields": (_PROPERTIES, "test_whatever_is_asked_is_bounded"),
        "input-data": (_SUBMISSIONS, "test_input_is_measured_in_bytes"),
        "logs": (_LOGS, "test_one_account_follows_a_few_logs_at_a_time_and_others_go_on"),
        "logs-nobody-reads": (_LOGS, "test_nobody_goes_on_reading_for_who_has_left"),
        "keys": (_KEYS, "test_an_owner_has_a_bounded_number_of_valid_keys"),
    },
    "API5": {
        "every-operation": (_ACCESS, "test_who_may_not_is_answered_as_if_there_were_nothing"),
        "roles-are-the-issuers": (
            _TOKENS,
            "test_roles_are_what_the_identity_file_makes_of_a_claim",
        ),
    },
    "API6": {
        "jobs-without-credit": (_PLANE, "test_a_prepaid_account_needs_credit"),
        "a-submission-twice": (_IDEMPOTENCY, "test_many_at_once_are_one"),
        "credit-twice": (_BILLING, "test_credit_is_given_once_and_shown_to_its_owner_alone"),
        "charges-twice": (
            _PLANE_BILLING,
            "test_replicas_that_settle_at_once_in_any_order_charge_once",
        ),
    },
    "API7": {
        "keys-of-issuers": (_KEY_SOURCES, "test_other_answers_are_no_keys"),
        "key-sets-that-tokens-name": (_TOKENS, "test_it_is_refused"),
        "an-image-of-another-registry": (_SUBMISSIONS, "test_a_tag_reaches_no_other_registry"),
    },
    "API8": {
        "headers": (_MIDDLEWARE, "test_answers_are_neither_stored_nor_guessed_at"),
        "mistakes-of-ours": (
            _PROBLEMS,
            "test_a_mistake_of_ours_is_in_the_log_with_the_name_of_the_request",
        ),
        "fields-are-not-shown": (
            _PROBLEMS,
            "test_fields_that_are_not_valid_are_named_and_not_shown",
        ),
        "tls": (
            _LISTENING,
            "test_with_a_certificate_others_are_served_with_tls_and_the_pod_itself_without",
        ),
        "as-described": (_PLANE_SCHEMA, "test_every_answer_is_as_described"),
    },
    "API9": {
        "every-operation-has-an-owner": (
            _ACCESS,
            "test_no_operation_and_no_id_of_one_has_been_forgotten",
        ),
    },
    "API10": {
        "reviews": (_UPSTREAM, "test_a_review_that_says_nothing_proves_nothing"),
        "silence": (_UPSTREAM, "test_an_answer_that_is_none_is_no_mistake_of_ours"),
        "watches": (_UPSTREAM, "test_rubbish_in_a_watch_ends_neither_the_copy_nor_the_api"),
        "refusals": (_REFUSALS, "test_rubbish_is_answered_with_its_status"),
        "an-issuer-that-is-away": (
            _KEY_SET,
            "test_an_issuer_that_is_away_is_asked_again_at_a_bounded_rate",
        ),
    },
}
"""The file and the name of each case's test, by risk."""
