import type { Target, TargetName } from '../target.js'
import { fastJwt } from './fast-jwt.js'
import { hono } from './hono.js'
import { jose } from './jose.js'
import { jsonwebtoken } from './jsonwebtoken.js'
import { tokenlib } from './tokenlib.js'

/** Every library, ours first. */
export const TARGETS: readonly Target[] = [tokenlib, jose, fastJwt, jsonwebtoken, hono]

/** The library that this run attacks: ours, or the one that `SECURITY_TARGET` names. */
export function readTarget(): Target {
  const name = (process.env['SECURITY_TARGET'] ?? 'tokenlib') as TargetName
  const target = TARGETS.find((candidate) => candidate.name === name)
  if (target === undefined) throw new Error(`No library is called ${name}`)
  return target
}
