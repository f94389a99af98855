import { data, Form, redirect } from 'react-router'
import { setCookies } from 'tokenlib'
import { toHeaders, tokens } from '../tokens.server'
import type { Route } from './+types/login'

// React Router refuses forms of other sites, which could log the visitor in to the attacker's account.
export async function action({ request }: Route.ActionArgs) {
  // Your check of the password belongs here.
  const uid = (await request.formData()).get('uid')
  if (typeof uid !== 'string' || uid === '') return data('Who are you?', { status: 400 })

  const pair = await tokens.sessions.open({ uid })
  const cookies = setCookies(tokens, pair)
  return redirect('/', { status: 303, headers: toHeaders(cookies) })
}

export default function Login() {
  return (
    <Form method="post">
      <input name="uid" autoComplete="username" />
      <button>Log in</button>
    </Form>
  )
}
