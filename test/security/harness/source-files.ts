import { parseAst } from 'vite'
import { readLibraryFiles } from '../../helpers/library-files.js'

/** A part of a program, as ESTree has it. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** A file of the library, read and parsed. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly nodes: readonly SyntaxNode[]
}

let parsed: readonly SourceFile[] | undefined

/** Every file of the library. */
export function readSourceFiles(): readonly SourceFile[] {
  return (parsed ??= readLibraryFiles().map(({ path, text }) => ({ path, text, nodes: readNodes(text) })))
}

/** Every node of a TypeScript text. */
export function readNodes(text: string): readonly SyntaxNode[] {
  const nodes: SyntaxNode[] = []
  collect(parseAst(text, { lang: 'ts' }), nodes)
  return nodes
}

function collect(value: unknown, nodes: SyntaxNode[]): void {
  if (typeof value !== 'object' || value === null) return
  if (typeof (value as Partial<SyntaxNode>).type === 'string') nodes.push(value as SyntaxNode)
  for (const member of Object.values(value)) collect(member, nodes)
}
