import { defineMiddleware } from 'astro:middleware'
import { readVisitor } from './lib/tokens'

export const onRequest = defineMiddleware(async ({ isPrerendered, locals, request }, next) => {
  locals.visitor = isPrerendered ? null : await readVisitor(request)
  return next()
})
