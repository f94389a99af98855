import { redirect } from 'react-router'
import { visitorContext } from '../visitor'
import type { Route } from './+types/account'

export function loader({ context }: Route.LoaderArgs) {
  const visitor = context.get(visitorContext)
  if (visitor === null) throw redirect('/login', 303)
  return { id: visitor.sub }
}

export default function Account({ loaderData }: Route.ComponentProps) {
  return <p>{`Account of ${loaderData.id}`}</p>
}
