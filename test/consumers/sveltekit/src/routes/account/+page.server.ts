import { redirect } from '@sveltejs/kit'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = ({ locals }) => {
  if (locals.visitor === null) redirect(303, '/login')
  return { account: locals.visitor.sub }
}
