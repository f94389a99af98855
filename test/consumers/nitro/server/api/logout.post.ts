import { defineHandler } from 'nitro/h3'
import { unsetCookies } from 'tokenlib'
import { sendCookies } from 'tokenlib/h3'
import { tokens } from '../utils/tokens'

export default defineHandler(async (event) => {
  await tokens.logout(event.req)
  sendCookies(event, unsetCookies(tokens))
  return 'Logged out'
})
