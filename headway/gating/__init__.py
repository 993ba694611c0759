"""What ``headway gate`` is made of: a server asked patiently, a run waited for, its reports."""
