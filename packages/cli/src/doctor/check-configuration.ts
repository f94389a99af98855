import { parseDuration, toGraceMs } from 'tokenlib/kit'
import { type Duration } from 'tokenlib'
import { COOKIE_CHECKS } from './check-cookies.js'
import { type Check, createFinding, type Finding, ok, runChecks } from './findings.js'
import type { ConfigurationFacts } from './read-configuration.js'
import { toDurationText, toListText } from '../words.js'

/** Checks a configuration by itself, without the store. */
export function checkConfiguration(facts: ConfigurationFacts): Finding[] {
  return [...checkVariables(facts), ...runChecks(facts, [...CHECKS_OF_TOKENS, ...COOKIE_CHECKS])]
}

// One finding for each mistake.
function checkVariables(facts: ConfigurationFacts): Finding[] {
  const { fieldErrors, ruleErrors, unknownNames, weakSecrets } = facts
  const findings = [
    ...fieldErrors.map((error) =>
      createFinding('config-field', 'error', {
        title: `${error}.`,
        detail: 'TokenConfig.fromEnv() throws, and the application does not start.',
        fix: 'Correct the variable, or remove it to get the default.',
      }),
    ),
    ...ruleErrors.map((error) =>
      createFinding('config-rules', 'error', {
        title: `${error}.`,
        detail: 'new TokenManager() throws, and the application does not start.',
        fix: 'Change the variables that the message names.',
      }),
    ),
    ...weakSecrets.map((weakness) =>
      createFinding('secret-strength', 'error', {
        title: `${weakness}, so anybody can guess it and create tokens.`,
        detail: 'RFC 7518 section 3.2: a secret must have at least as many bits as the hash.',
        fix: 'Replace it by the output of: npx tokenlib secret',
      }),
    ),
    ...unknownNames.map((sentence) =>
      createFinding('config-unknown', 'warning', {
        title: `${sentence}${sentence.endsWith('?') ? '' : '.'}`,
        detail: 'tokenlib ignores the variable, and uses the default of the setting that was meant.',
        fix: 'Rename the variable, or remove it if it belongs to another program.',
      }),
    ),
  ]
  if (facts.source === 'application') {
    findings.push(ok('config-field', 'The manager accepts its configuration.'))
  } else {
    if (fieldErrors.length === 0) findings.push(ok('config-field', 'Every variable has a valid value.'))
    if (ruleErrors.length === 0) findings.push(ok('config-rules', 'The variables fit together.'))
  }
  if (unknownNames.length === 0) findings.push(ok('config-unknown', 'No JWT_ variable is unknown.'))
  if (weakSecrets.length === 0 && facts.hasKeys) {
    findings.push(ok('secret-strength', 'No secret is short, published or repetitive.'))
  }
  return findings
}

const checkKeys: Check<ConfigurationFacts> = ({ hasKeys, keysInCode, source }) => {
  if (hasKeys) return ok('keys-missing', `The ${source} has a key.`)
  if (keysInCode) return null
  return createFinding('keys-missing', 'error', {
    title: 'The environment has no key: neither JWT_SECRET_KEY nor JWT_PRIVATE_KEY is set.',
    detail: 'new TokenManager({ config: TokenConfig.fromEnv() }) throws.',
    fix: 'Set JWT_SECRET_KEY (npx tokenlib secret), or pass --keys-in-code if the application has its keys elsewhere.',
  })
}

const checkRandomness: Check<ConfigurationFacts> = ({ typedSecrets, weakSecrets, hasKeys }) => {
  // What is weak for certain is reported already.
  const typed = typedSecrets.filter((name) => !weakSecrets.some((weakness) => weakness.startsWith(name)))
  if (typed.length === 0) return hasKeys ? ok('secret-random', 'Secrets look random.') : null
  return createFinding('secret-random', 'warning', {
    title: `${toListText(typed)} looks like words, not like random bytes.`,
    detail: 'Anybody with one token can try billions of passphrases per second, without a request.',
    fix: 'Replace it by the output of: npx tokenlib secret',
  })
}

const checkWeakSecretAllowed: Check<ConfigurationFacts> = ({ config, weakSecrets }) => {
  if (!config.JWT_ALLOW_WEAK_SECRET) return ok('weak-secret-allowed', 'Weak secrets are refused.')
  return createFinding('weak-secret-allowed', 'warning', {
    title: 'JWT_ALLOW_WEAK_SECRET is on, so a weak secret would be accepted without an error.',
    fix:
      weakSecrets.length === 0
        ? 'Remove the variable: the secret does not need it.'
        : 'Replace the secret (npx tokenlib secret), then remove the variable.',
  })
}

const checkPreviousKey: Check<ConfigurationFacts> = ({ config }) => {
  const names = (['JWT_PREVIOUS_SECRET_KEY', 'JWT_PREVIOUS_PUBLIC_KEY'] as const).filter(
    (name) => config[name] !== null,
  )
  if (names.length === 0) return ok('previous-key', 'No previous key is accepted.')
  const lifetimes = [config.JWT_ACCESS_TOKEN_EXPIRES, config.JWT_REFRESH_TOKEN_EXPIRES].map(toSeconds)
  const longest = Math.max(...lifetimes)
  const wait =
    longest === Number.POSITIVE_INFINITY ? 'when no client needs it any more' : toDurationText(longest)
  return createFinding('previous-key', 'note', {
    title: `${toListText(names)} is set: tokens of the key before the rotation are still accepted.`,
    detail: 'A previous key that is never removed is as dangerous as a current one.',
    fix:
      longest === Number.POSITIVE_INFINITY
        ? `Remove it ${wait}; tokens that never expire need it for ever.`
        : `Remove it once the rotation is ${wait} ago, the longest lifetime of a token.`,
  })
}

const checkAlgorithms: Check<ConfigurationFacts> = ({ config }) => {
  const { JWT_ALGORITHM: algorithm, JWT_DECODE_ALGORITHMS: decoded } = config
  const others = [decoded ?? []].flat().filter((name) => name !== algorithm)
  if (others.length === 0) return ok('algorithms', `Only ${algorithm} is accepted.`)
  return createFinding('algorithms', 'warning', {
    title: `Tokens are signed with ${algorithm}, and ${toListText(others)} is accepted too.`,
    detail: 'That is for a change of the algorithm. Fewer algorithms are fewer ways to forge a token.',
    fix: 'Remove JWT_DECODE_ALGORITHMS once the tokens of the other algorithm have expired.',
  })
}

const [HOUR, DAY] = [3600, 86_400]

const checkAccessLifetime: Check<ConfigurationFacts> = ({ config }) => {
  const seconds = toSeconds(config.JWT_ACCESS_TOKEN_EXPIRES)
  if (seconds <= HOUR) return ok('access-lifetime', `Access tokens are valid for ${toDurationText(seconds)}.`)
  const isEndless = seconds === Number.POSITIVE_INFINITY
  return createFinding('access-lifetime', isEndless || seconds > DAY ? 'error' : 'warning', {
    title: isEndless
      ? 'Access tokens never expire.'
      : `Access tokens are valid for ${toDurationText(seconds)}.`,
    detail: 'A stolen token works for that long, and its revocation has to be kept for as long.',
    fix: 'Set JWT_ACCESS_TOKEN_EXPIRES=15m, and let clients refresh.',
  })
}

const checkRefreshLifetime: Check<ConfigurationFacts> = ({ config }) => {
  const seconds = toSeconds(config.JWT_REFRESH_TOKEN_EXPIRES)
  const isIdleLimited = config.JWT_REFRESH_IDLE_EXPIRES !== false
  const isEndless = seconds === Number.POSITIVE_INFINITY
  if (seconds <= 180 * DAY) {
    return ok('refresh-lifetime', `Sessions last for ${toDurationText(seconds)} at most.`)
  }
  return createFinding('refresh-lifetime', isIdleLimited ? 'note' : 'warning', {
    title: isEndless ? 'Sessions never end.' : `Sessions last for ${toDurationText(seconds)}.`,
    detail: 'The store keeps the row of every session until then, and a lost device stays logged in.',
    fix: isIdleLimited
      ? 'Unused sessions end by JWT_REFRESH_IDLE_EXPIRES; set JWT_REFRESH_TOKEN_EXPIRES=90d to end the others.'
      : 'Set JWT_REFRESH_TOKEN_EXPIRES=20d, or JWT_REFRESH_IDLE_EXPIRES=30d to end sessions that nobody uses.',
  })
}

const checkGrace: Check<ConfigurationFacts> = ({ config }) => {
  const configured = parseDuration(config.JWT_REFRESH_GRACE)
  if (configured === 0) {
    return ok('refresh-grace', 'Sessions move on at every refresh, for clients that refresh at expiry only.')
  }
  const seconds = toGraceMs(config) / 1000
  const waiting = `Sessions wait ${toDurationText(seconds)} before they move on`
  const shortener = seconds < configured ? readShortener(config, seconds) : null
  if (seconds >= 10 && shortener === null) return ok('refresh-grace', `${waiting}.`)
  const reason =
    shortener === null ? '' : ` instead of ${toDurationText(configured)}, because of ${shortener}`
  return createFinding('refresh-grace', seconds < 10 ? 'warning' : 'note', {
    title: `${waiting}${reason}.`,
    detail: `An answer to a refresh that takes more than ${toDurationText(seconds / 4)} may leave a browser with a dead refresh token.`,
    fix: shortener === null ? 'Set JWT_REFRESH_GRACE=60s.' : SHORTENERS[shortener],
  })
}

const SHORTENERS = {
  JWT_ACCESS_TOKEN_EXPIRES: 'Set JWT_ACCESS_TOKEN_EXPIRES=15m, or at least as long as JWT_REFRESH_GRACE.',
  JWT_REFRESH_IDLE_EXPIRES: 'Set JWT_REFRESH_IDLE_EXPIRES to at least twice JWT_REFRESH_GRACE.',
} as const

// The field that makes the grace this short.
function readShortener(
  { JWT_ACCESS_TOKEN_EXPIRES: lifetime }: ConfigurationFacts['config'],
  seconds: number,
): keyof typeof SHORTENERS {
  return toSeconds(lifetime) === seconds ? 'JWT_ACCESS_TOKEN_EXPIRES' : 'JWT_REFRESH_IDLE_EXPIRES'
}

const checkLeeway: Check<ConfigurationFacts> = ({ config }) => {
  const seconds = parseDuration(config.JWT_DECODE_LEEWAY)
  if (seconds <= 60) return ok('leeway', 'Expired tokens are accepted for a minute more at most.')
  return createFinding('leeway', 'warning', {
    title: `Expired tokens are accepted for ${toDurationText(seconds)} more.`,
    detail: 'The leeway is for clocks that differ, and clocks with NTP differ by less than a second.',
    fix: 'Set JWT_DECODE_LEEWAY=10s, and synchronise the clocks with NTP.',
  })
}

const checkIssuerAudience: Check<ConfigurationFacts> = ({ config }) => {
  const missing = [
    config.JWT_DECODE_ISSUER === null && 'JWT_DECODE_ISSUER',
    config.JWT_DECODE_AUDIENCE === null && 'JWT_DECODE_AUDIENCE',
  ].filter((name) => name !== false)
  if (missing.length < 2) return ok('issuer-audience', 'The issuer or the audience of tokens is checked.')
  return createFinding('issuer-audience', 'note', {
    title: 'Neither the issuer nor the audience of tokens is checked.',
    detail: 'If two services share a key, each accepts the tokens of the other.',
    fix: 'If the key is shared, set JWT_ENCODE_AUDIENCE and JWT_DECODE_AUDIENCE to the name of this service.',
  })
}

const checkTimeout: Check<ConfigurationFacts> = ({ config }) => {
  const seconds = parseDuration(config.JWT_REVOCATION_TIMEOUT)
  const text = toDurationText(seconds)
  if (seconds >= 0.05 && seconds <= 2) return ok('revocation-timeout', `Revocation checks end after ${text}.`)
  const isLong = seconds > 2
  return createFinding('revocation-timeout', 'warning', {
    title: `JWT_REVOCATION_TIMEOUT is ${text}.`,
    detail: isLong
      ? 'While the store does not answer, every request waits for that long before it gets a 503.'
      : 'A pause of the garbage collector is enough for a 503.',
    fix: `Set JWT_REVOCATION_TIMEOUT=${isLong ? '1s' : '250ms'}.`,
  })
}

const CHECKS_OF_TOKENS: readonly Check<ConfigurationFacts>[] = [
  checkKeys,
  checkRandomness,
  checkWeakSecretAllowed,
  checkPreviousKey,
  checkAlgorithms,
  checkAccessLifetime,
  checkRefreshLifetime,
  checkGrace,
  checkLeeway,
  checkIssuerAudience,
  checkTimeout,
]

function toSeconds(lifetime: Duration | false): number {
  return lifetime === false ? Number.POSITIVE_INFINITY : parseDuration(lifetime)
}
