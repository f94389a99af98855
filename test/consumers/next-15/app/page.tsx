import { readVisitor } from '@/lib/visitor'

export default async function Page() {
  const visitor = await readVisitor()
  return <p>{visitor === null ? 'Not logged in' : `Hello ${visitor.sub}`}</p>
}
