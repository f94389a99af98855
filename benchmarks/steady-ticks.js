import { executionAsyncResource } from 'node:async_hooks'

// V8 forgets the shape of objects when a full garbage collection finds none of them. Where that hits the objects of
// `process.nextTick`, Node creates them on a slow path from then on, and every request takes longer, by as much as one of
// our checks. Which processes it hits is chance, so every process loads this first and keeps one such object.
const kept = []
process.nextTick(() => kept.push(executionAsyncResource()))
