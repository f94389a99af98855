import { createFileRoute, redirect } from '@tanstack/react-router'
import { getVisitor } from '../visitor'

export const Route = createFileRoute('/account')({
  async loader() {
    const visitor = await getVisitor()
    if (visitor === null) throw redirect({ to: '/', statusCode: 303 })
    return visitor
  },
  component: Account,
})

function Account() {
  return <p>{`Account of ${Route.useLoaderData().id}`}</p>
}
