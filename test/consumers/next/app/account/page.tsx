import { redirect } from 'next/navigation'
import { readVisitor } from '@/lib/visitor'

export default async function Account() {
  const visitor = await readVisitor()
  if (visitor === null) redirect('/')
  return <p>{`Account of ${visitor.sub}`}</p>
}
