import { Outlet, Scripts } from 'react-router'
import type { Route } from './+types/root'
import { readVisitor } from './tokens.server'
import { visitorContext } from './visitor'

export const middleware: Route.MiddlewareFunction[] = [
  async ({ request, context }, next) => {
    context.set(visitorContext, await readVisitor(request))
    return next()
  },
]

export default function Root() {
  return (
    <html lang="en">
      <body>
        <Outlet />
        <Scripts />
      </body>
    </html>
  )
}
