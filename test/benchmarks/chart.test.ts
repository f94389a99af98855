import { expect, test } from 'vitest'
import { toChart, toSvg } from '../../benchmarks/chart.js'
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
      note: 'bare: 20.0 µs',
      bars: [
        { label: 'tokenlib', kind: 'ours', share: 0.8, note: '80 %  (25.0 µs)' },
        { label: 'tokenlib, 1 million revoked in memory', kind: 'ours', share: 1, note: '105 %  (19.0 µs)' },
        { label: 'koa-jwt with one Redis GET', kind: 'peer', share: 0.1, note: '10 %  (200 µs)' },
      ],
    },
  ])
})

test('the picture has its texts, is well-formed, and has colours for dark pages', () => {
  const svg = toSvg({
    title: 'A < B & C',
    subtitle: 'there',
    caption: 'here',
    groups: [
      { title: 'Koa', note: 'bare', bars: [{ label: 'ours', kind: 'ours', share: 0.5, note: '50 %' }] },
    ],
  })
  expect(svg).toContain('A &lt; B &amp; C')
  expect(svg).toContain('prefers-color-scheme: dark')
  expect(svg).toMatch(/<rect class="ours" [^>]*width="210"/)
  const opened = [...svg.matchAll(/<(\w+)(?:\s[^>]*[^/])?>/g)].map((match) => match[1])
  const closed = [...svg.matchAll(/<\/(\w+)>/g)].map((match) => match[1])
  expect(opened.toSorted()).toEqual(closed.toSorted())
})
