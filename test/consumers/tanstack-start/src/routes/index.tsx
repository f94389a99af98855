import { createFileRoute } from '@tanstack/react-router'
import { getVisitor } from '../visitor'

export const Route = createFileRoute('/')({
  loader: () => getVisitor(),
  component: Home,
})

function Home() {
  const visitor = Route.useLoaderData()
  return <p>{visitor === null ? 'Not logged in' : `Hello ${visitor.id}`}</p>
}
