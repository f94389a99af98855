import { defineHandler } from 'nitro/h3'
import { sendCookies } from 'tokenlib/h3'
import { toCookies, tokens } from '../utils/tokens'

export default defineHandler(async (event) => {
  sendCookies(event, toCookies(await tokens.sessions.refresh(event.req)))
  return 'Refreshed'
})
