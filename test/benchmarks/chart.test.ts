import { expect, test } from 'vitest'
import { toChart, toSvg } from '../../benchmarks/chart.js'
import { createGroup } from '../../benchmarks/group.js'

const samples = new Map([
  ['bare', [{ perSecond: 1000 }]],
  ['koa-jwt, Set', [{ perSecond: 1200 }]],
  ['tokenlib', [{ perSecond: 905 }]],
])

test('a chart shows each framework as shares of its bare server: bare, ours, the others', () => {
  const groups = [
    createGroup('http Koa', 'Koa over HTTP', samples),
    createGroup('create HS256', 'Create', samples),
  ]
  expect(toChart(groups, 'here and now').groups).toEqual([
    {
      title: 'Koa',
      bars: [
        { label: 'bare', kind: 'bare', share: 1, note: '100 %  (1,000/s)' },
        { label: 'tokenlib', kind: 'ours', share: 0.905, note: '91 %  (905/s)' },
        { label: 'koa-jwt, Set', kind: 'peer', share: 1, note: '120 %  (1,200/s)' },
      ],
    },
  ])
})

test('the picture has its texts, is well-formed, and knows dark pages', () => {
  const svg = toSvg({
    title: 'A < B & C',
    caption: 'here',
    groups: [{ title: 'Koa', bars: [{ label: 'ours', kind: 'ours', share: 0.5, note: '50 %' }] }],
  })
  expect(svg).toContain('A &lt; B &amp; C')
  expect(svg).toContain('prefers-color-scheme: dark')
  expect(svg).toMatch(/<rect class="ours" [^>]*width="210"/)
  const opened = [...svg.matchAll(/<(\w+)(?:\s[^>]*[^/])?>/g)].map((match) => match[1])
  const closed = [...svg.matchAll(/<\/(\w+)>/g)].map((match) => match[1])
  expect(opened.toSorted()).toEqual(closed.toSorted())
})
