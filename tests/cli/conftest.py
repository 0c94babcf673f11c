from pictures import blank_pictures as blank_pictures
