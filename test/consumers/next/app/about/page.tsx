// Prerendered: every cache may keep it.
export default function About() {
  return <p>About us</p>
}
