import { Elysia } from 'elysia'
import { enforce, handleErrors, inject } from 'tokenlib/elysia'
import { config, tokens } from './core.js'

export const app = new Elysia()
  .onError(handleErrors({ config }))
  .get(
    '/length',
    inject({ payload: tokens.accessTokenRequired }, ({ payload }) => payload.sub.length),
    { beforeHandle: enforce(tokens.accessTokenRequired) },
  )
  .resolve(inject({ payload: tokens.accessTokenRequired }))
  .get('/me', ({ payload }) => {
    const id: string = payload.sub
    return id
  })
