import { Suspense } from 'react'
import { readVisitor } from '@/lib/visitor'

async function Greeting() {
  const visitor = await readVisitor()
  return <p>{visitor === null ? 'Not logged in' : `Hello ${visitor.sub}`}</p>
}

export default function Page() {
  return (
    <Suspense>
      <Greeting />
    </Suspense>
  )
}
