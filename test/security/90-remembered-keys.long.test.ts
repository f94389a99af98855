import { expect } from 'vitest'
import { createProofParser } from '../../packages/tokenlib/src/proofs/dpop-proof.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createProver } from './harness/prover.js'

describeAttacks('a proof whose key is remembered (RFC 9449 §4.3 steps 5 to 7)', () => {
  ownAttack('more keys than are remembered', () => {
    const [client, thief] = [createProver(), createProver()]
    const parse = createProofParser(['ES256'])
    const header = (count: number) => ({ header: { kid: `key-${count}` } })
    for (let count = 0; count < 1010; count++) parse(client.prove(header(count)))
    for (const count of [0, 5, 1008, 1009]) {
      const forged = client.prove({ ...header(count), key: thief.privateKey })
      expect(() => parse(forged)).toThrow(expect.objectContaining({ code: 'PROOF_INVALID' }))
      expect(parse(client.prove(header(count))).jkt).toBe(client.jkt)
    }
  })
})
