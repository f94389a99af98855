import { createServerFn } from '@tanstack/react-start'
import { getRequest } from '@tanstack/react-start/server'
import { readVisitor } from './tokens.server'

/** Who asks for a page; `null` without a valid token. */
export const getVisitor = createServerFn().handler(async () => {
  const visitor = await readVisitor(getRequest())
  return visitor === null ? null : { id: visitor.sub }
})
