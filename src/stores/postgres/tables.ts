import { ConfigurationError } from '../../errors.js'
import type { OptionNames } from '../../options.js'

/** Where the tables of a store are. */
export interface TableOptions {
  /** The schema of the tables; without one they are found by the `search_path` of the connection. */
  readonly schema?: string
  /** What the names of the tables begin with: `tokenlib_`. */
  readonly prefix?: string
}

/** The names of `TableOptions`. */
export const TABLE_OPTIONS: OptionNames<TableOptions> = { schema: true, prefix: true }

/** The names of the tables, quoted for SQL. */
export interface Tables {
  /** The schema, quoted as the tables are, or `null` for that of the connection. */
  readonly schema: string | null
  /** One row: the version of the tables. */
  readonly version: string
  /** One row for each namespace: what its history is, and how far it goes. */
  readonly heads: string
  readonly revocations: string
  readonly sessions: string
}

/** An index that is not the primary key of its table. */
export type IndexName = 'change' | 'until' | 'user' | 'start'

/**
 * What an index begins with, and what a condition has to name so that the index is used for it.
 *
 * The planner believes that a namespace which it has no statistics of has one row, so it takes any index that begins
 * with a column of the condition, and walks through the whole namespace. Hence the primary key is the only index that
 * begins with `namespace`, and every other one begins with an expression of its own.
 */
export function leadSql(index: IndexName, namespace: string): string {
  return `('${index} ' || ${namespace})`
}

/** The names of a store's tables, or `ConfigurationError` for what cannot be part of a name. */
export function toTables({ schema, prefix = 'tokenlib_' }: TableOptions = {}): Tables {
  if (!PREFIX.test(prefix)) {
    throw new ConfigurationError(
      'prefix begins the names of tables: up to 40 letters, digits and underscores, no digit first',
    )
  }
  if (schema !== undefined && !IDENTIFIER.test(schema)) {
    throw new ConfigurationError(
      'schema is the name of a schema: up to 63 letters, digits and underscores, no digit first',
    )
  }
  const table = (name: string): string => (schema === undefined ? '' : `"${schema}".`) + `"${prefix}${name}"`
  return {
    schema: schema === undefined ? null : `"${schema}"`,
    version: table('version'),
    heads: table('heads'),
    revocations: table('revocations'),
    sessions: table('sessions'),
  }
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/
// PostgreSQL cuts names at 63 bytes, and two that are cut may become one.
const PREFIX = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/
