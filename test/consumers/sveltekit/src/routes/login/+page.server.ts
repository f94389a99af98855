import { fail, redirect } from '@sveltejs/kit'
import { setCookies } from 'tokenlib'
import { tokens } from '#lib/server/tokens.ts'
import type { Actions } from './$types'

export const actions: Actions = {
  // SvelteKit refuses forms of other sites, which could log the visitor in to the attacker's account.
  async default({ request, locals }) {
    // Your check of the password belongs here.
    const uid = (await request.formData()).get('uid')
    if (typeof uid !== 'string' || uid === '') return fail(400, { message: 'Who are you?' })

    const pair = await tokens.sessions.open({ uid })
    locals.cookies.push(...setCookies(tokens, pair))
    redirect(303, '/')
  },
}
