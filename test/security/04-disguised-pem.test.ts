import { attack, describeAttacks } from './harness/attack.js'
import { keyPairOf } from './harness/forge.js'
import { toPem } from './harness/key-texts.js'
import { tryUntold } from './harness/untold.js'

const pems = ['RS256', 'ES256', 'EdDSA'].map((algorithm) => toPem(keyPairOf(algorithm).publicKey))
const withPrefix = (prefix: string): string[] => pems.map((pem) => prefix + pem)

// White space of every kind, as String.prototype.trim knows it and as it does not.
const BLANKS = [' ', '\t', '\n', '\r\n', '\v', '\f', '\u00A0', '\u2028', '\u3000', '    \n\n  ']
const INVISIBLE = [
  '\uFEFF',
  '\u200B',
  '\u200D',
  '\u2060',
  '\u00AD',
  '\u202E',
  '\0',
  '\x01',
  '\x1B[0m',
  '\x7F',
]
const WRAPPERS = [
  '# the key of the issuer\n',
  '// key: ',
  'key=',
  '"',
  '-----BEGIN NOTHING-----\n-----END NOTHING-----\n',
  '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n',
  'HTTP/1.1 200 OK\r\nContent-Type: application/x-pem-file\r\n\r\n',
  'Bag Attributes\n    friendlyName: issuer\n',
]

describeAttacks('a PEM key that does not start like one (CVE-2026-34950, CVE-2026-107722)', () => {
  attack('white space before it', (lab) => tryUntold(lab, BLANKS.flatMap(withPrefix)))

  attack('invisible and control characters before it', (lab) => tryUntold(lab, INVISIBLE.flatMap(withPrefix)))

  attack('a comment or another text around it', (lab) =>
    tryUntold(lab, [...WRAPPERS.flatMap(withPrefix), ...pems.map((pem) => `${pem}# end of the key\n`)]),
  )

  attack('other line ends, and none (CVE-2026-102268)', async (lab) => {
    const ends = ['\r\n', '\r', ' ', '', String.raw`\n`, '\n\n', ' \n', '\u2028']
    await tryUntold(
      lab,
      ends.flatMap((end) => pems.map((pem) => pem.trimEnd().replaceAll('\n', end))),
    )
  })

  attack('in bytes instead of a text', async (lab) => {
    const bytes = [' ', '\uFEFF', '# key\n', ''].flatMap(withPrefix).map((text) => Buffer.from(text))
    await tryUntold(lab, bytes)
  })
})
