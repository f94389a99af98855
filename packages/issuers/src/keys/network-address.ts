import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { IS_WORKERD } from 'tokenlib/kit'

// Not public (RFC 6890 and its registry), and the address at which Azure's hosts answer their machines.
const PRIVATE_IPV4 = toBlockList('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
])

// RFC 4291 §2.4: 2000::/3 are the global ones, less Teredo and others, 6to4, and the two for documentation.
const GLOBAL_IPV6 = toBlockList('ipv6', ['2000::/3'])
const PRIVATE_IPV6 = toBlockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

// An IPv4 address in IPv6, and one behind a translator (RFC 6052 §2.1).
const IPV4_IN_IPV6 = toBlockList('ipv6', ['::ffff:0:0/96', '64:ff9b::/96'])

// RFC 6761 §6.3, RFC 6762 §3, RFC 8375, and the name that clouds use for their metadata: for runtimes that cannot look a
// name up.
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/

/** Where a host is: `name` if only its address tells. */
export type HostKind = 'public' | 'private' | 'name'

/** The kind of a `hostname` of a URL, which has normalised every spelling of an address. */
export function hostKindOf(hostname: string): HostKind {
  if (hostname.startsWith('[')) return isPublicIpv6(hostname.slice(1, -1)) ? 'public' : 'private'
  if (IPV4.test(hostname)) return isPublicIpv4(hostname) ? 'public' : 'private'
  return PRIVATE_NAME.test(hostname.replace(/\.$/, '')) ? 'private' : 'name'
}

/** Whether an address that was looked up is one of the public Internet. */
export function isPublicAddress(address: string): boolean {
  return address.includes(':') ? isPublicIpv6(address) : isPublicIpv4(address)
}

interface DnsModule {
  readonly promises: {
    lookup(name: string, options: { readonly all: true }): Promise<readonly { readonly address: string }[]>
  }
}
interface ModuleLoader {
  getBuiltinModule?(name: 'node:dns'): DnsModule | undefined
}

/**
 * The addresses of a name; `null` where they cannot be looked up, as in Workers, or behind a proxy that does it.
 *
 * By `getBuiltinModule`, not by an import: a runtime or a bundler without `node:dns` must not fail for it.
 */
export async function lookUpAddresses(name: string): Promise<readonly string[] | null> {
  if (IS_WORKERD) return null
  const { process } = globalThis as { readonly process?: ModuleLoader }
  try {
    const found = await process?.getBuiltinModule?.('node:dns')?.promises.lookup(name, { all: true })
    return found?.map(({ address }) => address) ?? null
  } catch {
    return null
  }
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

function toBlockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}

function isPublicIpv4(address: string): boolean {
  return isIPv4(address) && !PRIVATE_IPV4.check(address, 'ipv4')
}

// An address with a zone is not global.
function isPublicIpv6(address: string): boolean {
  if (!isIPv6(address) || address.includes('%')) return false
  if (IPV4_IN_IPV6.check(address, 'ipv6')) return isPublicIpv4(readEmbeddedIpv4(address))
  return GLOBAL_IPV6.check(address, 'ipv6') && !PRIVATE_IPV6.check(address, 'ipv6')
}

// The last four bytes: a URL spells them as the last two groups, or one of them where the other is part of "::".
function readEmbeddedIpv4(address: string): string {
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':')
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16))
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}
