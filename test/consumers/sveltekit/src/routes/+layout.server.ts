import type { LayoutServerLoad } from './$types'

export const load: LayoutServerLoad = ({ locals }) => ({
  id: locals.visitor?.sub ?? null,
  // For the forms of the pages.
  csrf: locals.visitor?.csrf ?? null,
})
