/**
 * Where and when a run was measured, in one line.
 *
 * @param {Pick<import('./results.js').Results, 'date' | 'machine' | 'load'>} results
 */
export function describeSetting({ date, machine, load }) {
  const { cpu, cores, memoryGb, system, node } = machine
  const parts = [`${cpu}, ${cores} cores, ${memoryGb} GB`, system, `Node ${node.slice(1)}`, load, date]
  return parts.filter((part) => part !== null).join(' · ')
}
