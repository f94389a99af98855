import { fileURLToPath } from 'node:url'
import type { WorkerProgram } from '../../helpers/servers/start-workerd.js'

const SECRET = 'x3Jq8vN2xWc5Rt7Yb1Zq8vN2xWc5Rt7Yb1'

function bindStore(service?: string): string[] {
  const from = service === undefined ? '' : `, serviceName = "${service}"`
  const names = {
    STORE: 'TokenStoreObject',
    TEST_STORE: 'TestStoreObject',
    WITHOUT_SQLITE: 'WithoutSqlite',
    OTHER_CLASS: 'OtherObject',
  }
  return [
    ...Object.entries(names).map(
      ([name, className]) =>
        `(name = "${name}", durableObjectNamespace = (className = "${className}"${from}))`,
    ),
    `(name = "SECRET", text = "${SECRET}")`,
  ]
}

const entry = fileURLToPath(new URL('worker.ts', import.meta.url))

/** The Worker of the tests, and the same once more, in an isolate of its own. */
export const WORKERS: Readonly<Record<string, WorkerProgram>> = {
  main: {
    entry,
    bindings: [...bindStore(), '(name = "OTHER", service = "other")'],
    objects: [
      '(className = "TokenStoreObject", uniqueKey = "store", enableSql = true)',
      '(className = "TestStoreObject", uniqueKey = "test-store", enableSql = true)',
      '(className = "WithoutSqlite", uniqueKey = "without-sqlite")',
      '(className = "OtherObject", uniqueKey = "other-class", enableSql = true)',
    ],
  },
  other: { entry, bindings: bindStore('main') },
}
