import { expect, test } from 'vitest'
import { parseWrk } from '../../benchmarks/load.js'

const OUTPUT = `Running 10m test @ http://127.0.0.1:3000/me
  1 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.31ms    1.02ms  21.34ms   91.20%
    Req/Sec    13.72k     1.21k   15.01k    80.00%
  2725 requests in 198.88ms, 2.51MB read
Requests/sec:  13701.55
Transfer/sec:      2.50MB
`

test('the figures of wrk are the requests, and how many there were per second', () => {
  expect(parseWrk(OUTPUT)).toEqual({ requests: 2725, perSecond: 13_701.55 })
})

test('a refused request is an error: what is measured must have been accepted', () => {
  const refused = OUTPUT.replace('Requests/sec', '  Non-2xx or 3xx responses: 12\nRequests/sec')
  expect(() => parseWrk(refused)).toThrow('12 answers')
})

test('so is a connection that failed, and output without figures', () => {
  const failed = OUTPUT.replace(
    'Requests/sec',
    '  Socket errors: connect 0, read 3, write 0, timeout 1\nRequests/sec',
  )
  expect(() => parseWrk(failed)).toThrow('Socket errors: connect 0, read 3')
  expect(() => parseWrk('unable to connect')).toThrow('no figures')
})
