import { IS_WORKERD } from 'tokenlib/kit'

// Not public (RFC 6890 and its registry), and the address at which Azure's hosts answer their machines.
const PRIVATE_IPV4 = [
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
].map(toIpv4Range)

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

interface Ipv4Range {
  readonly first: number
  readonly size: number
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

function toIpv4Range(text: string): Ipv4Range {
  const [address = '', bits] = text.split('/')
  return { first: toNumber(address), size: 2 ** (32 - Number(bits)) }
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

function isPublicIpv4(address: string): boolean {
  if (!IPV4.test(address)) return false
  const number = toNumber(address)
  return !PRIVATE_IPV4.some(({ first, size }) => number >= first && number < first + size)
}

function isPublicIpv6(address: string): boolean {
  const groups = readIpv6(address)
  if (groups === null) return false
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups
  const isIpv4Mapped = (a | b | c | d | e) === 0 && f === 0xffff
  // RFC 6052 §2.1: an IPv4 address behind a translator.
  const isTranslated = a === 0x64 && b === 0xff9b && (c | d | e | f) === 0
  if (isIpv4Mapped || isTranslated) {
    return isPublicIpv4([g >> 8, g & 0xff, h >> 8, h & 0xff].join('.'))
  }
  // RFC 4291 §2.4: 2000::/3 are the global ones. Less 2001::/23 (Teredo and others), 2002::/16 (6to4), and the two for
  // documentation, 2001:db8::/32 and 3fff::/20.
  if (a >> 13 !== 1 || a === 0x2002 || (a === 0x3fff && b >> 12 === 0)) return false
  return a !== 0x2001 || (b >= 0x200 && b !== 0xdb8)
}

// The eight groups of an address; `null` if it is none, or has a zone and so is not global.
function readIpv6(address: string): number[] | null {
  const url = `http://[${address}]/`
  if (!URL.canParse(url)) return null
  // In the one spelling of RFC 5952: hexadecimal, at most one "::".
  const [head = '', tail] = new URL(url).hostname.slice(1, -1).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16))
}
