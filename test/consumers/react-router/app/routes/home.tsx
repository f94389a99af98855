import { Form, Link } from 'react-router'
import { visitorContext } from '../visitor'
import type { Route } from './+types/home'

export function loader({ context }: Route.LoaderArgs) {
  const visitor = context.get(visitorContext)
  return visitor === null ? null : { id: visitor.sub, csrf: visitor.csrf }
}

export default function Home({ loaderData }: Route.ComponentProps) {
  if (loaderData === null) return <Link to="/login">Not logged in</Link>
  return (
    <>
      <p>{`Hello ${loaderData.id}`}</p>
      <Form method="post" action="/logout">
        <input type="hidden" name="csrf_token" value={loaderData.csrf} />
        <button>Log out</button>
      </Form>
    </>
  )
}
