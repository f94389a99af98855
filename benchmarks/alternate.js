/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {boolean} [seldom] Whether it takes part in every third round only.
 */

/**
 * Samples contestants in turn, round after round, every other round backwards: whatever slows the machine for a while
 * slows neighbours alike, and nobody is always the first.
 *
 * @template {Contestant} Given
 * @template Sample
 * @param {readonly Given[]} contestants
 * @param {number} rounds
 * @param {(contestant: Given) => Sample | Promise<Sample>} sample
 * @returns {Promise<Map<string, (Sample | null)[]>>} Samples by name and round; null where one was left out.
 */
export async function alternate(contestants, rounds, sample) {
  /** @type {Map<string, (Sample | null)[]>} */
  const samples = new Map(contestants.map(({ name }) => [name, Array(rounds).fill(null)]))
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contestants : contestants.toReversed()
    for (const contestant of order) {
      if (contestant.seldom === true && round % 3 !== 0) continue
      samples.get(contestant.name)[round] = await sample(contestant)
    }
  }
  return samples
}
