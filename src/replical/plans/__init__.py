"""Every number a learner uses, each with where it came from, and what it will cost.

`catalogue` has one record for each learner, `parameters` one for each parameter; `plan` turns a task into a plan, `bills`
says what plans ask for. Learners have no constants of their own: they ask their plan.
"""
