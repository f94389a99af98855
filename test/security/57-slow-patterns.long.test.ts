import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { withBearer } from '../helpers/manager.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'
import { findAmbiguity } from './harness/regular-expressions.js'
import { readSourceFiles, type SyntaxNode } from './harness/source-files.js'
import { countWork } from './limits/count-work.js'

describeAttacks('patterns that are slow on purpose, or remember (CVE-2026-35041, CVE-2026-35040)', () => {
  ownAttack('no pattern of this library can be cut in many ways', () => {
    const patterns = readPatterns()
    expect(patterns.length).toBeGreaterThan(20)
    expect(patterns.map(({ pattern }) => pattern)).toContain("^[!#$%&'*+.^_`|~0-9A-Za-z-]+ +[^ ]")
    const slow = patterns.flatMap(({ path, pattern }) => {
      const problem = findAmbiguity(pattern)
      return problem === null ? [] : [`${path}: /${pattern}/, ${problem}`]
    })
    expect(slow).toEqual([])
  })

  ownAttack('such a pattern would be found', () => {
    const slow = [
      '^(a+)+$',
      '(a*)*',
      '(?:a|a)*',
      '(?:[a-z]+\\.?)*$',
      '\\s*\\s*$',
      '^\\d+\\d+$',
      '([a-z]|\\w)+',
      '(?:x(?:y+)){2,}',
    ]
    for (const pattern of slow) expect(findAmbiguity(pattern), pattern).not.toBeNull()
    const quick = [
      '^a+$',
      '^[a-z]+ +[^ ]',
      '\\s*:\\s*',
      '(?:a|b)*',
      '[*+]{1,3}',
      '(?:[a-z]{0,61}x)*',
      '\\(a+\\)\\+',
    ]
    for (const pattern of quick) expect(findAmbiguity(pattern), pattern).toBeNull()
  })

  ownAttack('no pattern remembers where it was, except where a copy of it does', () => {
    const stateful = readPatterns().filter(({ flags }) => /[gy]/.test(flags))
    // Replacements start again each time, and `matchAll` works on a copy; `test` and `exec` go on where they were.
    expect(stateful.filter(({ isForgetful }) => !isForgetful)).toEqual([])
    expect(stateful.length).toBeGreaterThan(0)
  })

  ownAttack('no option of this library takes a pattern', () => {
    const fields: TokenConfigOptions = {
      JWT_DECODE_ISSUER: 'https://id.example',
      JWT_DECODE_AUDIENCE: 'api',
      JWT_CSRF_METHODS: ['POST'],
      JWT_CSRF_ORIGINS: ['https://app.example'],
      JWT_HEADER_NAME: 'Authorization',
      JWT_QUERY_STRING_NAME: 'token',
    }
    expect(new TokenConfig(fields).JWT_DECODE_AUDIENCE).toBe('api')
    for (const name of Object.keys(fields)) {
      for (const pattern of [/.*/, /^(a+)+$/g, [/./]]) {
        expect(() => new TokenConfig({ [name]: pattern }), name).toThrow(
          expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
        )
      }
    }
  })

  attack('the same token is judged alike, however often it comes', async ({ open }) => {
    const options = {
      algorithm: 'HS256',
      key: SECRET,
      issuer: 'https://id.example',
      audience: 'api',
    } as const
    const claims = { ...CLAIMS, iss: options.issuer, aud: options.audience }
    const verifier = await open(options, forge({ claims }))
    for (let round = 0; round < 10; round++) {
      await verifier.accepts(forge({ claims }))
      await verifier.refuses(forge({ claims: { ...claims, aud: 'apis' } }))
      await verifier.refuses(forge({ claims: { ...claims, iss: `${options.issuer}.evil.example` } }))
    }
  })

  ownAttack('8 KB of the worst for each pattern that a request reaches', async () => {
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 0 }),
    })
    await tokens.accessTokenRequired(withBearer(forge()))
    const size = 8192
    const shapes: readonly ((length: number) => string)[] = [
      (length) => 'a'.repeat(length),
      (length) => `a${' '.repeat(length)}`,
      (length) => 'a '.repeat(length / 2),
      (length) => 'a ,'.repeat(length / 3),
      (length) => ', '.repeat(length / 2),
      (length) => `${'~'.repeat(length / 2)}${' '.repeat(length / 2)},`,
    ]
    for (const shape of shapes) {
      const totals: number[] = []
      for (const length of [size, 2 * size]) {
        const request = { headers: { authorization: `Bearer x, ${shape(length)}` } }
        const { work, error } = await countWork(() => tokens.accessTokenRequired(request))
        expect(error).toMatchObject({ code: 'TOKEN_INVALID' })
        totals.push(work.total)
      }
      const [small = 0, large = 0] = totals
      expect(small).toBeGreaterThan(size)
      expect(small).toBeLessThan(12 * size)
      expect(large / small).toBeLessThan(2.2)
    }
  })
})

interface FoundPattern {
  readonly path: string
  readonly pattern: string
  readonly flags: string
  /** Whether it is written, or named, where a replacement or `matchAll` takes it. */
  readonly isForgetful: boolean
}

// Literals, and the texts that `new RegExp` is given, with the constants of the file in their places.
function readPatterns(): readonly FoundPattern[] {
  return readSourceFiles().flatMap(({ path, text, nodes }) => {
    const taken = nodes.filter(isForgetfulCall).map((node) => (node['arguments'] as SyntaxNode[])[0])
    const names = new Set(taken.map((node) => node?.['name']))
    const named = nodes
      .filter((node) => names.has((node['id'] as SyntaxNode | null)?.['name']))
      .map(({ init }) => init)
    const replaced = new Set([...taken, ...named])
    return nodes.flatMap((node): FoundPattern[] => {
      const regex = node['regex'] as { pattern: string; flags: string } | undefined
      if (regex !== undefined) return [{ path, ...regex, isForgetful: replaced.has(node) }]
      if (!isNewRegExp(node)) return []
      const [source, given] = node['arguments'] as SyntaxNode[]
      const flags = typeof given?.['value'] === 'string' ? given['value'] : ''
      const pattern = evaluate(text.slice(source?.start, source?.end), text)
      return [{ path, pattern, flags, isForgetful: replaced.has(node) }]
    })
  })
}

function isForgetfulCall(node: SyntaxNode): boolean {
  const property = (node['callee'] as SyntaxNode | undefined)?.['property'] as SyntaxNode | undefined
  return (
    node.type === 'CallExpression' && /^(?:replace|replaceAll|matchAll)$/.test(String(property?.['name']))
  )
}

function isNewRegExp(node: SyntaxNode): boolean {
  return /^(?:New|Call)Expression$/.test(node.type) && (node['callee'] as SyntaxNode)['name'] === 'RegExp'
}

// Throws for what is not a constant: such a pattern could not be judged here.
function evaluate(expression: string, file: string): string {
  const filled = expression.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const constant = new RegExp(`^const ${name} = '(.*)'$`, 'm').exec(file)?.[1]
    if (constant === undefined) throw new Error(`${name} is no constant text`)
    return constant
  })
  const template = /^`([^`$]*(?:\$(?!\{)[^`$]*)*)`$/.exec(filled)?.[1]
  if (template === undefined) throw new Error(`${expression} is no constant text`)
  return template.replaceAll('\\\\', '\\')
}
