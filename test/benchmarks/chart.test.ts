import { expect, test } from 'vitest'
import { type Bar, toChart, toSvg } from '../../benchmarks/chart.js'
import { createGroup } from '../../benchmarks/figures.js'

const samples = new Map([
  ['bare', [{ cost: 20 }]],
  ['bare, empty hook', [{ cost: 20 }]],
  ['tokenlib', [{ cost: 25 }]],
  ['tokenlib, a million revoked in memory', [{ cost: 19 }]],
  ['koa-jwt, Redis GET', [{ cost: 200 }]],
  ['koa-jwt, Set', [{ cost: 150 }]],
])

test('a chart shows each framework: ours, ours with revocations, and another library with Redis', () => {
  const groups = [createGroup('http Koa', 'Koa', samples), createGroup('create HS256', 'Create', samples)]
  expect(toChart(groups, 'here and now').groups).toEqual([
    {
      title: 'Koa',
      note: 'open: 20.0 µs',
      bars: [
        { label: 'tokenlib', kind: 'ours', share: 0.8, spread: [0.8, 0.8], note: '80 % (80 – 80), 25.0 µs' },
        {
          label: 'tokenlib, 1 million revoked in memory',
          kind: 'ours',
          share: 20 / 19,
          spread: [20 / 19, 20 / 19],
          note: '105 % (105 – 105), 19.0 µs',
        },
        {
          label: 'koa-jwt with one Redis GET',
          kind: 'peer',
          share: 0.1,
          spread: [0.1, 0.1],
          note: '10 % (10 – 10), 200 µs',
        },
      ],
    },
  ])
})

function draw(bars: Bar[], title = 'Koa') {
  return toSvg({ title, subtitle: 'there', caption: 'here', groups: [{ title: 'Koa', note: 'open', bars }] })
}

const half: Bar = { label: 'ours', kind: 'ours', share: 0.5, note: '50 %' }

test('the picture has its texts, is well-formed, and has colours for dark pages', () => {
  const svg = draw([half], 'A < B & C')
  expect(svg).toContain('A &lt; B &amp; C')
  expect(svg).toContain('prefers-color-scheme: dark')
  expect(svg).toMatch(/<rect class="ours" [^>]*width="250"/)
  const opened = [...svg.matchAll(/<(\w+)(?:\s[^>]*[^/])?>/g)].map((match) => match[1])
  const closed = [...svg.matchAll(/<\/(\w+)>/g)].map((match) => match[1])
  expect(opened.toSorted()).toEqual(closed.toSorted())
})

test('a spread beyond the full length is drawn whole, and makes all bars shorter', () => {
  const svg = draw([half, { ...half, share: 1.05, spread: [0.9, 1.25] }])
  expect(svg).toMatch(/<rect class="track" [^>]*width="400"/)
  expect(svg).toMatch(/<rect class="ours" [^>]*width="200"/)
  expect(svg).toMatch(/<rect class="ours" [^>]*width="420"/)
  expect(svg).toMatch(/<path class="spread" d="M380 \S+M380 \S+H520M520 /)
})

test('a long title is broken into lines', () => {
  const svg = draw([half], 'Users logged out by mistake, and thieves who are never caught')
  expect(svg.match(/<text class="title" /g)).toHaveLength(2)
})
