import { H3 } from 'h3'
import { enforce, handleErrors, inject } from 'tokenlib/h3'
import { config, tokens } from './core.js'

export const app = new H3().use(handleErrors({ config })).get(
  '/me',
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => payload.sub.length),
  { middleware: [enforce(tokens.accessTokenRequired)] },
)
