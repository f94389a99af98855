import { checkAccepted, isLocal } from './check-store.js'
import { toPlace, toRedisCli } from './endpoint.js'
import { type Check, createFinding, type Finding, notSeen, ok } from './findings.js'
import type { RedisFacts } from './read-redis.js'
import { toBytesText, toCount, toListText } from '../words.js'

const allowInfo = ({ endpoint }: RedisFacts): string =>
  `Allow it with: ${toRedisCli(endpoint)} ACL SETUSER <user> +info`

const notShown = (facts: RedisFacts, id: 'redis-persistence' | 'redis-eviction', setting: string): Finding =>
  facts.info === null
    ? notSeen(id, `${setting}: the user may not run INFO`, allowInfo(facts))
    : notSeen(id, `${setting}: INFO does not show it`, 'Look at it in the console of your provider.')

const checkVersion: Check<RedisFacts> = (facts) => {
  const { info } = facts
  if (info === null)
    return notSeen('redis-version', 'the server: the user may not run INFO', allowInfo(facts))
  const valkey = info.get('valkey_version')
  const version = valkey ?? info.get('redis_version') ?? 'unknown'
  const name = `${valkey === undefined ? 'Redis' : 'Valkey'} ${version}`
  if (Number.parseInt(version, 10) >= 6) return ok('redis-version', `${name}.`)
  return createFinding('redis-version', 'error', {
    title: `${name} is too old: the store needs Redis 6 or newer, or Valkey.`,
    fix: 'Upgrade the server.',
  })
}

const checkRole: Check<RedisFacts> = ({ info, movedTo, write }) => {
  if (movedTo !== null) {
    return createFinding('redis-role', 'error', {
      title: `This node of the cluster does not have the namespace; ${movedTo} has it.`,
      detail: 'doctor looks at one node. The application needs a cluster client.',
      fix: `Run: npx tokenlib doctor --store redis://${movedTo}`,
    })
  }
  if (info?.get('role') === 'slave' || write.error?.includes('READONLY') === true) {
    return createFinding('redis-role', 'error', {
      title: 'The server is a replica: the store needs the primary, and rejects every call.',
      fix: `Connect to the primary, ${toPrimary(info)}; behind Sentinel, let the client ask Sentinel for it.`,
    })
  }
  if (info === null) return null
  const isCluster = info.get('redis_mode') === 'cluster'
  return ok('redis-role', `The server is a primary${isCluster ? ' of a cluster' : ''}.`)
}

function toPrimary(info: RedisFacts['info']): string {
  const [host, port] = [info?.get('master_host'), info?.get('master_port')]
  return host === undefined ? 'which ROLE names' : `${host}:${port}`
}

const checkPersistence: Check<RedisFacts> = (facts) => {
  const { info, endpoint } = facts
  const aof = info?.get('aof_enabled')
  if (aof === undefined) return notShown(facts, 'redis-persistence', 'appendonly')
  if (aof !== '0') return ok('redis-persistence', 'appendonly is on.')
  return createFinding('redis-persistence', 'error', {
    title: 'appendonly is off: a restart forgets every revocation since the last snapshot.',
    detail: 'The store rejects such a server, unless it has assumeDurable or allowVolatile.',
    fix: `Run: ${toRedisCli(endpoint)} CONFIG SET appendonly yes && ${toRedisCli(endpoint)} CONFIG REWRITE`,
  })
}

const checkFsync: Check<RedisFacts> = ({ info, fsync, endpoint }) => {
  // Without a log there is nothing to flush.
  if (info?.get('aof_enabled') === '0') return null
  if (fsync === null) {
    return notSeen(
      'redis-fsync',
      'appendfsync: the user may not run CONFIG GET',
      `Look at it as an administrator: ${toRedisCli(endpoint)} CONFIG GET appendfsync`,
    )
  }
  if (fsync === 'always') {
    return ok('redis-fsync', 'appendfsync is always: an acknowledged revocation is on the disk.')
  }
  const fix = `Run: ${toRedisCli(endpoint)} CONFIG SET appendfsync always && ${toRedisCli(endpoint)} CONFIG REWRITE`
  if (fsync === 'everysec') {
    return createFinding('redis-fsync', 'note', {
      title: 'appendfsync is everysec: a power cut may lose the last second or two of revocations.',
      detail: 'Processes that saw them notice it, and revoke everything from before or restore it.',
      fix: `If that is not acceptable: ${fix.replace('Run: ', '')}`,
    })
  }
  return createFinding('redis-fsync', 'warning', {
    title: 'appendfsync is set to no: a power cut may lose the last 30 seconds of revocations or more.',
    detail: 'The kernel decides when it writes the log to the disk.',
    fix,
  })
}

const checkDisk: Check<RedisFacts> = ({ info, write, endpoint }) => {
  const failed = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'].filter(
    (name) => info?.get(name) === 'err',
  )
  const isRefused = write.error?.includes('MISCONF') === true
  if (failed.length === 0 && !isRefused) {
    return info === null ? null : ok('redis-disk', 'The server can write to its disk.')
  }
  return createFinding('redis-disk', 'error', {
    title: `The server cannot write to its disk${failed.length > 0 ? ` (${toListText(failed)})` : ''}.`,
    detail: 'Revoking, logging in and refreshing fail. Checks go on.',
    fix: `Look at the log of the server, and free space on its disk: ${toRedisCli(endpoint)} INFO persistence`,
  })
}

const checkEviction: Check<RedisFacts> = (facts) => {
  const { info, endpoint } = facts
  const policy = info?.get('maxmemory_policy') ?? ''
  if (policy === '') return notShown(facts, 'redis-eviction', 'maxmemory-policy')
  if (policy === 'noeviction') return ok('redis-eviction', 'maxmemory-policy is noeviction.')
  const isLimited = Number(info?.get('maxmemory')) > 0
  return createFinding('redis-eviction', isLimited ? 'error' : 'warning', {
    title: isLimited
      ? `maxmemory-policy is ${policy}: a full server drops revocations.`
      : `maxmemory-policy is ${policy}: once maxmemory is set, a full server drops revocations.`,
    detail: 'A dropped revocation makes a revoked token valid again. volatile- policies drop them first.',
    fix: `Run: ${toRedisCli(endpoint)} CONFIG SET maxmemory-policy noeviction && ${toRedisCli(endpoint)} CONFIG REWRITE`,
  })
}

const checkMemory: Check<RedisFacts> = ({ info, write, endpoint }) => {
  if (info === null) return null
  const [used, limit] = [Number(info.get('used_memory')), Number(info.get('maxmemory'))]
  const isFull = write.error?.includes('OOM') === true
  if (!isFull && (limit === 0 || used < limit * 0.8)) {
    return ok('redis-memory', `${toBytesText(used)} of memory are used.`)
  }
  return createFinding('redis-memory', isFull ? 'error' : 'warning', {
    title: `${toBytesText(used)} of ${toBytesText(limit)} of memory are used.`,
    detail: 'A full server rejects writes: revoking, logging in and refreshing fail.',
    fix: `Raise it: ${toRedisCli(endpoint)} CONFIG SET maxmemory <bytes> && ${toRedisCli(endpoint)} CONFIG REWRITE`,
  })
}

const checkFailover: Check<RedisFacts> = ({ info, minReplicas }) => {
  const replicas = Number(info?.get('connected_slaves') ?? 0)
  if (info === null || replicas === 0) return null
  return createFinding('redis-failover', 'note', {
    title: `The server has ${toCount(replicas, 'replica')}: a failover may lose the last revocations.`,
    detail: 'Replication is asynchronous. Processes that saw the lost ones revoke everything from before.',
    fix:
      minReplicas === 0
        ? 'Use replicate() in the processes, and set min-replicas-to-write 1 to narrow the gap.'
        : 'Use replicate() in the processes, which restores what a failover loses.',
  })
}

const checkPassword: Check<RedisFacts> = ({ endpoint }) => {
  const { hasPassword, host } = endpoint
  if (hasPassword === null || host === undefined) return null
  if (hasPassword) return ok('redis-password', 'The server asks for a password.')
  const fix =
    'Set requirepass or a user (ACL SETUSER), and put it into the address: ' +
    `rediss://user:password@${host === null ? 'host' : toPlace(endpoint)}`
  if (isLocal(host)) {
    return createFinding('redis-password', 'note', {
      title: 'The server asks for no password: every process on this machine can remove revocations.',
      fix,
    })
  }
  return createFinding('redis-password', 'error', {
    title: `${host} asks for no password: anyone who can reach it can remove revocations.`,
    fix,
  })
}

const checkWritable: Check<RedisFacts> = ({ write, movedTo, endpoint }) => {
  const { error, deniedCommands } = write
  // These have findings of their own.
  if (movedTo !== null || /READONLY|MISCONF|OOM/.test(error ?? '')) return null
  const rule = `${toRedisCli(endpoint)} ACL SETUSER <user> '~{tokenlib:*' '&{tokenlib:*' +@all -@dangerous +info`
  if (deniedCommands.length > 0) {
    return createFinding('store-writable', 'error', {
      title: `The user may not run ${toListText(deniedCommands)}.`,
      detail: 'Revoking, logging in or checking fails.',
      fix: `Run: ${rule}`,
    })
  }
  if (error === null) return ok('store-writable', 'The user may read and write the keys of the store.')
  return createFinding('store-writable', 'error', {
    title: `The server refuses to run the scripts of the store: ${error.split(/[\r\n]/, 1)[0]}`,
    fix: `If it is a matter of rights: ${rule}`,
  })
}

const checkChannel: Check<RedisFacts> = ({ write, endpoint }) => {
  if (write.mayPublish) return write.error === null ? ok('redis-channel', 'Replicas are woken.') : null
  return createFinding('redis-channel', 'warning', {
    title: 'The user may not publish on the channel that wakes replicas.',
    detail: 'Revocations work, and replicas find them when they poll.',
    fix: `Run: ${toRedisCli(endpoint)} ACL SETUSER <user> '&{tokenlib:*'`,
  })
}

const checkHistory: Check<RedisFacts> = ({ history, entries, endpoint }) => {
  if (history === 'whole') {
    return ok('store-history', `The namespace has ${toCount(entries ?? 0, 'revocation')}.`)
  }
  if (history === 'absent') {
    return createFinding('store-history', 'note', {
      title: 'The namespace is empty: no process has used it yet, or its data was removed.',
      fix: 'If the application has run before, compare --namespace and the number of the database with its own.',
    })
  }
  if (history === null) return null
  return createFinding('store-history', 'error', {
    title: 'A part of the data is missing: the next process that starts revokes everything.',
    detail: 'Keys of the namespace were deleted or evicted, or an older copy was restored in parts.',
    fix: `Find out who deleted them (${toRedisCli(endpoint)} ACL LOG, maxmemory-policy). Everybody has to log in again.`,
  })
}

/** The checks of a Redis server. */
export const REDIS_CHECKS: readonly Check<RedisFacts>[] = [
  checkAccepted([checkRole, checkPersistence, checkEviction, checkWritable]),
  checkWritable,
  checkHistory,
  checkVersion,
  checkRole,
  checkPersistence,
  checkFsync,
  checkDisk,
  checkEviction,
  checkMemory,
  checkFailover,
  checkPassword,
  checkChannel,
]
