import { describe, expect, test } from 'vitest'
import {
  hostKindOf,
  isPublicAddress,
  lookUpAddresses,
} from '../../packages/issuers/src/keys/network-address.js'

const kindOf = (host: string): string => hostKindOf(new URL(`https://${host}/`).hostname)

const PRIVATE = [
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  // Other spellings of 127.0.0.1 and 169.254.169.254.
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '0xa9.0xfe.0xa9.0xfe',
  '１２７.0.0.1',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:0:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::10.0.0.1]',
  '[64:ff9b:1::1.1.1.1]',
  '[100::1]',
  '[2001::1]',
  '[2001:1ff::1]',
  '[2001:db8::1]',
  '[2002:7f00:1::1]',
  '[3fff::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  'localhost',
  'LOCALHOST.',
  'a.localhost',
  'printer.local',
  'metadata.google.internal',
  'router.home.arpa',
]

const PUBLIC = [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '168.63.129.15',
  '168.63.129.17',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '[2606:4700::1111]',
  '[2001:200::1]',
  '[2001:4860:4860::8888]',
  '[2003::1]',
  '[3ffe::1]',
  '[::ffff:1.1.1.1]',
  '[64:ff9b::1.1.1.1]',
]

const NAMES = ['id.example', 'localhost.example', 'mylocalhost', 'internal.example', '127.0.0.1.example', 'a']

test('hosts are private, public, or names of which only the address tells', () => {
  expect(PRIVATE.filter((host) => kindOf(host) !== 'private')).toEqual([])
  expect(PUBLIC.filter((host) => kindOf(host) !== 'public')).toEqual([])
  expect(NAMES.filter((host) => kindOf(host) !== 'name')).toEqual([])
  expect(PUBLIC.filter((host) => !isPublicAddress(host.replaceAll(/[[\]]/g, '')))).toEqual([])
})

describe('an address that was looked up', () => {
  test('is not public if it is private, or no address', () => {
    const addresses = [
      '127.0.0.1',
      '::1',
      '::ffff:10.0.0.1',
      'fe80::1%eth0',
      '10.0.0',
      '',
      'name',
      '1.1.1.1.1',
      ':',
    ]
    expect(addresses.filter(isPublicAddress)).toEqual([])
  })

  test('localhost has the addresses of this machine', async () => {
    const addresses = (await lookUpAddresses('localhost')) ?? []
    expect(addresses.length).toBeGreaterThan(0)
    expect(addresses.filter(isPublicAddress)).toEqual([])
  })

  test('a name that does not exist has none', async () => {
    // RFC 6761 §6.4: never resolved.
    expect(await lookUpAddresses('name.invalid')).toBeNull()
  })
})
