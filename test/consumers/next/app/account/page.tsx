import { redirect } from 'next/navigation'
import { Suspense } from 'react'
import { readVisitor } from '@/lib/visitor'

async function Details() {
  const visitor = await readVisitor()
  if (visitor === null) redirect('/')
  return <p>{`Account of ${visitor.sub}`}</p>
}

export default function Account() {
  return (
    <Suspense>
      <Details />
    </Suspense>
  )
}
