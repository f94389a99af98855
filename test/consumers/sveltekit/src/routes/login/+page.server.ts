import { fail, redirect } from '@sveltejs/kit'
import { setAccessCookies, setRefreshCookies } from 'tokenlib'
import { tokens } from '#lib/server/tokens.ts'
import type { Actions } from './$types'

export const actions: Actions = {
  // SvelteKit refuses forms of other sites, which could log the visitor in to the attacker's account.
  async default({ request, locals }) {
    // Your check of the password belongs here.
    const uid = (await request.formData()).get('uid')
    if (typeof uid !== 'string' || uid === '') return fail(400, { message: 'Who are you?' })

    const { accessToken, refreshToken } = await tokens.sessions.open({ uid })
    locals.cookies.push(...setAccessCookies(tokens, accessToken), ...setRefreshCookies(tokens, refreshToken))
    redirect(303, '/')
  },
}
