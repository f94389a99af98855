import type { Algorithm } from '../../packages/tokenlib/src/tokens/jose.js'

/** A file of signatures or MACs, and the algorithm names that verify as it does; none if there is no such name. */
export interface PrimitiveFile {
  readonly file: string
  readonly algorithms: readonly Algorithm[]
  /** The good cases that are refused on purpose, if any. */
  readonly refused?: string
  /** The cases whose secret is too weak to be configured, if any: they run with weak secrets allowed. */
  readonly weak?: string
}

// With full tags these are 1-81, 163-165 and 169-171. The bad ones with short tags count as passed.
const SHORT_TAGS = '82-108, 166-168, 172-174'
const SHORT_SECRETS = '163-168'

/** The files in `wycheproof/primitives`: every one. */
export const PRIMITIVE_FILES: readonly PrimitiveFile[] = [
  { file: 'hmac_sha256_test.json', algorithms: ['HS256'], refused: SHORT_TAGS, weak: SHORT_SECRETS },
  { file: 'hmac_sha384_test.json', algorithms: ['HS384'], refused: SHORT_TAGS, weak: SHORT_SECRETS },
  { file: 'hmac_sha512_test.json', algorithms: ['HS512'], refused: SHORT_TAGS, weak: SHORT_SECRETS },
  { file: 'rsa_signature_2048_sha256_test.json', algorithms: ['RS256'] },
  { file: 'rsa_signature_2048_sha384_test.json', algorithms: ['RS384'] },
  { file: 'rsa_signature_2048_sha512_test.json', algorithms: ['RS512'] },
  { file: 'rsa_pss_2048_sha256_mgf1_32_test.json', algorithms: ['PS256'] },
  { file: 'rsa_pss_2048_sha384_mgf1_48_test.json', algorithms: ['PS384'] },
  { file: 'rsa_pss_4096_sha512_mgf1_64_test.json', algorithms: ['PS512'] },
  {
    file: 'ecdsa_secp256r1_sha256_p1363_test.json',
    algorithms: ['ES256'],
    refused:
      '64, 66-68, 71, 77-78, 80-81, 85-87, 94-96, 100, 102, 104-105, 107, 110-111, 114-115, 117-118, 138-142, ' +
      '171-172, 175-177, 180, 183, 189-192, 195-197, 199-200, 204, 210-211, 216-217, 226-227, 229, 233-234, 237, ' +
      '240, 242-244, 246, 248-250, 252-253, 257, 262',
  },
  {
    file: 'ecdsa_secp384r1_sha384_p1363_test.json',
    algorithms: ['ES384'],
    refused:
      '60-61, 63, 65, 67, 69-70, 72-73, 75-76, 78-79, 82-83, 90, 92-95, 98-99, 101-106, 108, 111, 114-116, 118, ' +
      '120, 123, 125-126, 129-130, 132, 134, 136-137, 139, 141, 143-144, 147, 149-151, 167, 199-200, 203, 205, ' +
      '207-208, 211-216, 218, 220-223, 227, 236-237, 242-243, 250-253, 255, 258, 262, 265, 269-271, 275, 280',
  },
  {
    file: 'ecdsa_secp521r1_sha512_p1363_test.json',
    algorithms: ['ES512'],
    refused:
      '1, 61, 63, 66-67, 69-70, 73-77, 80, 84, 87, 90, 95, 98-100, 102-106, 112, 114, 116, 118-120, 123, 125, ' +
      '128-129, 132, 135-136, 138, 140-141, 143-144, 146, 148, 150, 153, 155-156, 160, 162-163, 169-172, 177, ' +
      '182-184, 186, 203-205, 208, 236, 238, 240-241, 244, 247-249, 251, 253-254, 259-261, 263-269, 276, 278, ' +
      '282, 284, 290, 292-293, 295-296, 298-302, 304-306, 308-309, 313, 318',
  },
  { file: 'ed25519_test.json', algorithms: ['EdDSA', 'Ed25519'] },
  { file: 'ecdsa_secp256k1_sha256_p1363_test.json', algorithms: [], refused: '1-252' },
  { file: 'ed448_test.json', algorithms: [], refused: '1-87' },
]
